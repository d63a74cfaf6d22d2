#include "bindings.hpp"

NB_MODULE(_core, module) {
  using namespace bcart::bindings;
  module.doc() = "The native engine of bcart. Not public: use the names in `bcart`.";
  nb::set_leak_warnings(false);  // a core does not print, not even at exit
  bind_graph(module);
  bind_models(module);
  bind_grammar(module);
  bind_queries(module);
}
