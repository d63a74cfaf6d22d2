// Exponentials of many numbers at once.
#pragma once

#include <cstddef>

namespace bcart {

// Replaces numbers that are not positive (or hardly so) by their exponentials; below -700 they count as -700.
void exp_all(double* x, std::size_t n);

}  // namespace bcart
