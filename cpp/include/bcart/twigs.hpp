// The trees of up to two splits that grow from one box, added up without listing the boxes in them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "bcart/addition.hpp"
#include "bcart/fold.hpp"
#include "bcart/leaf.hpp"
#include "bcart/prior.hpp"
#include "bcart/splits.hpp"
#include "bcart/workers.hpp"

namespace bcart {

// On every feature the codes that no split of the box tells apart are one group. The sums of a child's cells over the
// groups of all features are one table, and with it the four parts of the box under any two splits are known: so the
// children need to be walked through once for each feature of the box, not once for each split. Fingerprints are summed
// in the same tables, and show which splits of a child are the same.
class Twigs {
 public:
  // For boxes at `depth`; without a leaf model every leaf counts 1.
  Twigs(const Fold& fold, const TreePrior& prior, const LeafModel* leaf, std::size_t depth, Steps& steps);
  Twigs(const Twigs&) = delete;
  Twigs& operator=(const Twigs&) = delete;

  template <class Addition>
  double value(std::span<const Cell> box, double log_leaf);

  // Of the sides of each split of the box asked for last: left, right, left, ...
  std::span<const double> child_values() const { return {child_values_.data(), 2 * splits_.size()}; }

 private:
  // Of groups; a split of the box sends one left.
  struct Interval {
    std::size_t first = 1;
    std::size_t last = 0;

    bool is_empty() const { return last < first; }
    bool grows_to(const Interval& other) const { return !is_empty() && first == other.first && last <= other.last; }
  };
  struct FeatureGroups {
    std::uint32_t feature;
    std::size_t first_slot;  // of its groups in a table
    std::size_t n_groups;
    std::size_t first_test;
    std::size_t last_test;
    std::size_t frequent = 0;  // the group of most cells
  };
  // Sums over some cells: for each slot, and for all of them together in the last one.
  struct Table {
    std::vector<Fingerprint> keys;
    std::vector<double> values;  // the weight, then the statistics
  };

  void find_groups(std::span<const Cell> box);
  void group_codes(FeatureGroups& groups);
  void sort_cells(std::span<const Cell> box, const FeatureGroups& groups);
  void clear(Table& table) const;
  void add_group(std::size_t group, Table& table) const;
  void subtract(const Table& part, Table& rest) const;
  void list_slots();
  void add_frequent_groups(Table& table) const;
  std::size_t n_cells_in(std::size_t group) const { return group_ends_[group + 1] - group_ends_[group]; }
  void grow_to(const Interval& wanted, Interval& held);
  template <class Addition>
  void follow_both_sides(const FeatureGroups& groups);
  template <class Addition>
  void follow_left_sides(const FeatureGroups& groups);
  template <class Addition>
  void follow_right_sides(const FeatureGroups& groups);
  template <class Addition>
  void follow(const Table& child, std::size_t place);
  void list_splits(const Table& child);
  void list_splits_on(const FeatureGroups& groups, const Table& child);
  void add_up_from_above(const FeatureGroups& groups, const Table& child);
  template <class Addition>
  void reduce_terms();

  const double* values_at(const Table& table, std::size_t slot) const { return table.values.data() + slot * width_; }

  const Fold& fold_;
  const TreePrior& prior_;
  const LeafModel* leaf_;
  std::size_t depth_;
  Steps& steps_;
  std::size_t width_;

  SplitFinder finder_;
  Array<Split> splits_;
  std::vector<Test> asked_;      // one a split
  std::vector<Interval> tests_;  // the same in groups
  std::vector<FeatureGroups> features_;
  std::size_t n_slots_ = 0;
  std::vector<std::uint32_t> group_of_code_;
  std::vector<std::uint32_t> groups_of_;  // of each cell of the box, on each feature
  std::vector<std::uint32_t> slots_;      // to which each cell of the box is added, and the last
  std::vector<std::size_t> slot_ends_{0};
  std::vector<Cell> box_;
  std::vector<std::uint32_t> by_group_;  // cells of the box, sorted by their group on one feature
  std::vector<std::size_t> group_ends_;
  Table whole_;
  Table side_;
  Table other_side_;

  SeenSides<Fingerprint> seen_;
  std::vector<double> from_above_;  // sums of the values of each group and those after it
  std::vector<double> left_;
  std::vector<double> statistics_;  // of the sides of a child's splits: left, right, left, ...
  std::vector<double> log_leaves_;
  Terms terms_;
  std::vector<std::size_t> places_;   // where the values of the terms belong
  std::vector<double> child_values_;  // of the sides of each split: left, right, left, ...
};

}  // namespace bcart
