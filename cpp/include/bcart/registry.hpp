// Models that are known by name, each in a file of its own.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace bcart {

// A constant of this type in the file of a model makes the model known.
template <class Model>
class Registered {
 public:
  using Make = std::function<std::unique_ptr<Model>(const std::vector<double>& parameters)>;

  Registered(const std::string& name, Make make) { all().emplace(name, std::move(make)); }

  // Throws std::out_of_range if there is no model of that name.
  static std::unique_ptr<Model> make(const std::string& name, const std::vector<double>& parameters) {
    return all().at(name)(parameters);
  }

 private:
  static std::map<std::string, Make>& all() {
    static std::map<std::string, Make> known;
    return known;
  }
};

}  // namespace bcart
