#include <new>

#include "bcart/memory.hpp"
#include "bcart/test_numbers.hpp"
#include "bindings.hpp"

namespace bcart::bindings {
namespace {

// Wherever the core gets no memory, Python sees the error of bcart. Its type is at hand by then: there may be no memory
// left to import it.
void translate_memory_errors() {
  nb::object type = nb::module_::import_("bcart.errors").attr("MemoryBudgetError");
  const auto translate = [](const std::exception_ptr& error, void* raised) {
    try {
      std::rethrow_exception(error);
    } catch (const std::bad_alloc&) {
      PyErr_SetString(static_cast<PyObject*>(raised),
                      "the system has no more memory to give; lower max_bins or max_depth, use fewer features, or ask "
                      "for fewer rows or samples at once");
    }
  };
  nb::register_exception_translator(translate, type.release().ptr());
}

void translate_data_errors() {
  nb::object type = nb::module_::import_("bcart.errors").attr("InvalidDataError");
  const auto translate = [](const std::exception_ptr& error, void* raised) {
    try {
      std::rethrow_exception(error);
    } catch (const TooManyTests& told) {
      PyErr_SetString(static_cast<PyObject*>(raised), told.what());
    }
  };
  nb::register_exception_translator(translate, type.release().ptr());
}

}  // namespace
}  // namespace bcart::bindings

NB_MODULE(_core, module) {
  using namespace bcart::bindings;
  module.doc() = "The native engine of bcart. Not public: use the names in `bcart`.";
  bcart::bindings::translate_memory_errors();
  bcart::bindings::translate_data_errors();
  nb::set_leak_warnings(false);  // a core does not print, not even at exit
  module.def("keep_released_memory", &bcart::keep_released_memory, nanobind::arg("is_kept"));
  bind_graph(module);
  bind_models(module);
  bind_grammar(module);
  bind_queries(module);
  bind_rows(module);
}
