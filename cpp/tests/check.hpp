// Just enough to state claims: TEST names one, CHECK and its kin test it and say where it fails, run_all runs them all.
#pragma once

#include <cmath>
#include <exception>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

namespace bcart::check {

struct Claim {
  const char* name;
  void (*body)();
};

inline std::vector<Claim> claims;
inline int n_failures = 0;
constexpr int kMaxFailures = 20;  // a claim about thousands of cases says only so much

struct TooManyFailures {};

struct Registration {
  Registration(const char* name, void (*body)()) { claims.push_back({name, body}); }
};

inline void fail(const char* file, int line, const std::string& what) {
  std::cerr << file << ':' << line << ": " << what << '\n';
  if (++n_failures >= kMaxFailures) throw TooManyFailures();
}

template <class A, class B>
void check_equal(const A& a, const B& b, const char* text, const char* file, int line) {
  if (!(a == b)) fail(file, line, std::string(text) + ": " + std::to_string(a) + " and " + std::to_string(b));
}

inline void check_close(double a, double b, double tolerance, const char* text, const char* file, int line) {
  if (a == b || std::abs(a - b) <= tolerance) return;
  fail(file, line,
       std::string(text) + ": " + std::to_string(a) + " and " + std::to_string(b) + " differ by " +
           std::to_string(std::abs(a - b) / tolerance) + " tolerances");
}

// Returns what main has to return.
inline int run_all() {
  for (const auto& [name, body] : claims) {
    const int n_before = n_failures;
    try {
      body();
    } catch (const TooManyFailures&) {
      std::cerr << "too many failures, the rest is not tried\n";
      return 1;
    } catch (const std::exception& error) {
      fail(name, 0, std::string("ended by an exception: ") + error.what());
    }
    std::cout << (n_failures == n_before ? "ok      " : "FAILED  ") << name << '\n';
  }
  return n_failures == 0 ? 0 : 1;
}

}  // namespace bcart::check

#define TEST(name)                                                          \
  static void name();                                                       \
  static const ::bcart::check::Registration name##_registered(#name, name); \
  static void name()

#define CHECK(condition)                                                                       \
  do {                                                                                         \
    if (!(condition)) ::bcart::check::fail(__FILE__, __LINE__, "CHECK(" #condition ") fails"); \
  } while (false)

#define CHECK_EQUAL(a, b) ::bcart::check::check_equal((a), (b), "CHECK_EQUAL(" #a ", " #b ")", __FILE__, __LINE__)

#define CHECK_CLOSE(a, b, tolerance) \
  ::bcart::check::check_close((a), (b), (tolerance), "CHECK_CLOSE(" #a ", " #b ")", __FILE__, __LINE__)

#define CHECK_THROWS(expression, Exception)                                                              \
  do {                                                                                                   \
    bool is_thrown = false;                                                                              \
    try {                                                                                                \
      expression;                                                                                        \
    } catch (const Exception&) {                                                                         \
      is_thrown = true;                                                                                  \
    }                                                                                                    \
    if (!is_thrown) ::bcart::check::fail(__FILE__, __LINE__, #expression " does not throw " #Exception); \
  } while (false)
