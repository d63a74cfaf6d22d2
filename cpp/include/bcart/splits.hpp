// S(N): the splits of one box.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "bcart/array.hpp"
#include "bcart/cells.hpp"
#include "bcart/fingerprint.hpp"
#include "bcart/split_rules.hpp"
#include "bcart/test_numbers.hpp"

namespace bcart {

struct Split {
  Fingerprint keys[2];  // of the left and of the right child, as the next
  std::uint32_t n_cells[2];
  std::uint64_t mask;  // of a box of up to 64 cells, one bit each: those that go left; zero if not known
  std::uint32_t test;  // its number
};

// The bipartitions of one box met so far, each named by one of its sides: by the fingerprint of that side, or by the
// mask of its cells. A zero key marks a free slot.
template <class Key>
class SeenSides {
 public:
  explicit SeenSides(std::size_t max_size) : slots_(std::bit_ceil(2 * max_size + 2)) { used_.reserve(max_size); }

  bool insert(const Key& side) {
    const std::size_t mask = slots_.size() - 1;
    std::size_t slot = (word(side) * 0x9e3779b97f4a7c15ULL >> 32) & mask;
    for (; slots_[slot] != Key{}; slot = (slot + 1) & mask) {
      if (slots_[slot] == side) return false;
    }
    slots_[slot] = side;
    used_.push_back(slot);
    return true;
  }
  void clear() {
    for (const std::size_t slot : used_) slots_[slot] = Key{};
    used_.clear();
  }

 private:
  static std::uint64_t word(std::uint64_t mask) { return mask; }
  static std::uint64_t word(const Fingerprint& fingerprint) { return fingerprint.low; }

  std::vector<Key> slots_;
  std::vector<std::size_t> used_;
};

// Lists the splits of one box after another; one finder a thread.
class SplitFinder {
 public:
  explicit SplitFinder(const SplitRules& rules);

  // Appends each bipartition once, in the order of the representatives: lowest feature, then lowest cut.
  void find(std::span<const Cell> box, Array<Split>& splits);

  // The two ways to find them, equal in result: answers of up to 64 cells as the bits of a word, of which a byte is
  // enough for a tiny box, or sums per bin.
  void find_by_masks(std::span<const Cell> box, Array<Split>& splits);
  void find_by_bins(std::span<const Cell> box, Array<Split>& splits);

 private:
  struct BinSum {
    Fingerprint sum;
    double weight = 0;
    double weight_from_here = 0;  // of this and all higher codes
    std::uint32_t n_cells = 0;
  };

  bool is_heavy_enough(std::span<const Cell> box) const;
  bool is_allowed(double left_weight, double right_weight) const;
  std::uint64_t answers_of_eight(std::span<const Cell> cells, std::size_t byte) const;
  void transpose_answers(std::span<const Cell> box, std::uint8_t* masks) const;
  void transpose_answers(std::span<const Cell> box, std::uint64_t* masks) const;
  std::size_t list_cuts(std::uint64_t all, const std::uint8_t* masks);
  std::size_t list_cuts(std::uint64_t all, const std::uint64_t* masks);
  template <class Mask>
  void find_in(std::span<const Cell> box, Mask* masks, Array<Split>& splits);
  template <class Mask>
  std::uint32_t number_of(std::size_t cut, const Mask* masks) const;
  bool is_allowed(std::uint64_t mask, std::size_t n_cells) const;
  void add_up_bins(std::span<const Cell> box);
  void list_gaps(std::span<const Cell> box, std::uint32_t feature, Form form, Array<Split>& splits);
  void list_codes(std::span<const Cell> box, std::uint32_t feature, Array<Split>& splits);
  void append(std::span<const Cell> box, const Test& test, const BinSum& left, double right_weight,
              Array<Split>& splits);

  const SplitRules& rules_;
  SeenSides<Fingerprint> seen_;
  SeenSides<std::uint64_t> seen_masks_;
  Fingerprint total_;
  std::vector<std::uint64_t> masks_;  // of each cut: the cells of the box that are below it
  std::vector<std::uint8_t> tiny_masks_;
  std::vector<std::size_t> found_cuts_;
  std::vector<Fingerprint> sums_;  // over the 16 subsets of each four cells, as the next
  std::vector<double> weights_;
  std::vector<BinSum> bins_;  // per feature and code, zero between boxes
};

}  // namespace bcart
