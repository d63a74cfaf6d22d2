#include "bcart/twigs.hpp"

#include <algorithm>
#include <numeric>

namespace bcart {
namespace {

constexpr std::size_t kTermsTogether = 4096;

bool is_less(const Fingerprint& a, const Fingerprint& b) { return a.low != b.low ? a.low < b.low : a.high < b.high; }

}  // namespace

Twigs::Twigs(const Fold& fold, const TreePrior& prior, const LeafModel* leaf, std::size_t depth, Steps& steps)
    : fold_(fold),
      prior_(prior),
      leaf_(leaf),
      depth_(depth),
      steps_(steps),
      width_(fold.n_values()),
      finder_(fold.rules()),
      group_of_code_(256),
      seen_(fold.rules().max_splits(fold.cells().n_cells)) {}

template <class Addition>
double Twigs::value(std::span<const Cell> box, double log_leaf) {
  splits_.resize(0);
  finder_.find(box, splits_);
  const std::size_t n = splits_.size();
  if (n == 0) return log_leaf + prior_.log_stop(depth_, 0);
  find_groups(box);
  child_values_.resize(2 * n);
  for (const FeatureGroups& groups : features_) {
    sort_cells(box, groups);
    if (fold_.is_exact()) {
      follow_both_sides<Addition>(groups);
    } else {
      follow_left_sides<Addition>(groups);
      follow_right_sides<Addition>(groups);
    }
  }
  reduce_terms<Addition>();
  const double log_split = prior_.log_split(depth_, n);
  terms_.log_terms.push_back(log_leaf + prior_.log_stop(depth_, n));
  for (std::size_t i = 0; i < n; ++i) {
    terms_.log_terms.push_back(child_values_[2 * i] + child_values_[2 * i + 1] + log_split);
  }
  terms_.ends.push_back(terms_.log_terms.size());
  Addition::reduce(terms_);
  terms_.ends.clear();
  terms_.log_terms.clear();
  return terms_.values[0];
}

// Only features that some split of the box looks at take part.
void Twigs::find_groups(std::span<const Cell> box) {
  features_.clear();
  asked_.resize(splits_.size());
  tests_.resize(splits_.size());
  n_slots_ = 0;
  for (std::size_t i = 0; i < splits_.size(); ++i) {
    asked_[i] = fold_.rules().numbers().test(splits_[i].test);
    if (features_.empty() || features_.back().feature != asked_[i].feature) {
      features_.push_back({asked_[i].feature, 0, 0, i, i});
    }
    features_.back().last_test = i + 1;
  }
  box_.assign(box.begin(), box.end());
  groups_of_.resize(box.size() * features_.size());
  for (std::size_t f = 0; f < features_.size(); ++f) {
    group_codes(features_[f]);
    steps_.add(box.size());
    for (std::size_t i = 0; i < box.size(); ++i) {
      groups_of_[i * features_.size() + f] = group_of_code_[fold_.cells().row(box[i])[features_[f].feature]];
    }
  }
  for (Table* table : {&whole_, &side_, &other_side_}) {
    table->keys.resize(n_slots_ + 1);
    table->values.resize((n_slots_ + 1) * width_);
  }
  list_slots();
  by_group_.resize(box.size());
  if (!fold_.is_exact()) return;
  clear(whole_);
  group_ends_ = {0, box.size()};
  std::iota(by_group_.begin(), by_group_.end(), 0);
  add_group(0, whole_);
  add_frequent_groups(whole_);
}

// Where sums are exact, those of the most frequent group of each feature follow from the rest: cells are not added to
// them.
void Twigs::list_slots() {
  const std::size_t n_features = features_.size();
  std::vector<std::size_t> n_cells(n_slots_, 0);
  for (std::size_t i = 0; i < box_.size(); ++i) {
    steps_.add(n_features);
    for (std::size_t f = 0; f < n_features; ++f) ++n_cells[features_[f].first_slot + groups_of_[i * n_features + f]];
  }
  for (FeatureGroups& groups : features_) {
    const auto first = n_cells.begin() + static_cast<std::ptrdiff_t>(groups.first_slot);
    groups.frequent =
        static_cast<std::size_t>(std::max_element(first, first + static_cast<std::ptrdiff_t>(groups.n_groups)) - first);
  }
  slots_.clear();
  slot_ends_.assign(1, 0);
  for (std::size_t i = 0; i < box_.size(); ++i) {
    steps_.add(n_features);
    for (std::size_t f = 0; f < n_features; ++f) {
      const std::uint32_t group = groups_of_[i * n_features + f];
      if (fold_.is_exact() && group == features_[f].frequent) continue;
      slots_.push_back(static_cast<std::uint32_t>(features_[f].first_slot + group));
    }
    slots_.push_back(static_cast<std::uint32_t>(n_slots_));
    slot_ends_.push_back(slots_.size());
  }
}

void Twigs::add_frequent_groups(Table& table) const {
  for (const FeatureGroups& groups : features_) {
    const std::size_t frequent = groups.first_slot + groups.frequent;
    Fingerprint key = table.keys[n_slots_];
    double* sums = &table.values[frequent * width_];
    std::copy_n(values_at(table, n_slots_), width_, sums);
    for (std::size_t slot = groups.first_slot; slot < groups.first_slot + groups.n_groups; ++slot) {
      if (slot == frequent) continue;
      key = key - table.keys[slot];
      for (std::size_t v = 0; v < width_; ++v) sums[v] -= values_at(table, slot)[v];
    }
    table.keys[frequent] = key;
  }
}

// A group begins at a code where the answer to some split changes.
void Twigs::group_codes(FeatureGroups& groups) {
  const std::size_t n_codes = fold_.cells().n_bins[groups.feature];
  std::vector<bool> begins(n_codes + 1, false);
  for (std::size_t i = groups.first_test; i < groups.last_test; ++i) {
    begins[asked_[i].first()] = true;
    begins[asked_[i].lower + 1] = true;
  }
  begins[0] = true;
  std::uint32_t group = 0;
  for (std::size_t code = 0; code < n_codes; ++code) {
    if (code > 0 && begins[code]) ++group;
    group_of_code_[code] = group;
  }
  groups.n_groups = group + 1;
  groups.first_slot = n_slots_;
  n_slots_ += groups.n_groups;
  for (std::size_t i = groups.first_test; i < groups.last_test; ++i) {
    tests_[i] = {group_of_code_[asked_[i].first()], group_of_code_[asked_[i].lower]};
  }
}

void Twigs::sort_cells(std::span<const Cell> box, const FeatureGroups& groups) {
  const auto f = static_cast<std::size_t>(&groups - features_.data());
  steps_.add(box.size());
  group_ends_.assign(groups.n_groups + 1, 0);
  const auto group_of = [&](std::size_t i) { return groups_of_[i * features_.size() + f]; };
  for (std::size_t i = 0; i < box.size(); ++i) ++group_ends_[group_of(i) + 1];
  std::partial_sum(group_ends_.begin(), group_ends_.end(), group_ends_.begin());
  std::vector<std::size_t> next = group_ends_;
  for (std::size_t i = 0; i < box.size(); ++i) by_group_[next[group_of(i)]++] = static_cast<std::uint32_t>(i);
}

void Twigs::clear(Table& table) const {
  std::fill_n(table.keys.begin(), n_slots_ + 1, Fingerprint{});
  std::fill_n(table.values.begin(), (n_slots_ + 1) * width_, 0.0);
}

void Twigs::add_group(std::size_t group, Table& table) const {
  for (std::size_t k = group_ends_[group]; k < group_ends_[group + 1]; ++k) {
    const std::uint32_t i = by_group_[k];
    const Fingerprint key = fold_.rules().fingerprint(box_[i]);
    const double* added = fold_.values(box_[i]);
    steps_.add(slot_ends_[i + 1] - slot_ends_[i]);
    for (std::size_t s = slot_ends_[i]; s < slot_ends_[i + 1]; ++s) {
      table.keys[slots_[s]] += key;
      double* sums = &table.values[slots_[s] * width_];
      for (std::size_t v = 0; v < width_; ++v) sums[v] += added[v];
    }
  }
}

// What is left of the whole box.
void Twigs::subtract(const Table& part, Table& rest) const {
  for (std::size_t slot = 0; slot <= n_slots_; ++slot) rest.keys[slot] = whole_.keys[slot] - part.keys[slot];
  for (std::size_t v = 0; v < (n_slots_ + 1) * width_; ++v) rest.values[v] = whole_.values[v] - part.values[v];
}

// One side of a test is added up, the other is what it leaves of the box.
template <class Addition>
void Twigs::follow_both_sides(const FeatureGroups& groups) {
  Interval held;
  for (std::size_t i = groups.first_test; i < groups.last_test; ++i) {
    const bool adds_right = groups.n_groups == 2 && n_cells_in(1 - tests_[i].first) < n_cells_in(tests_[i].first);
    const Interval wanted = adds_right ? Interval{1 - tests_[i].first, 1 - tests_[i].first} : tests_[i];
    grow_to(wanted, held);
    add_frequent_groups(side_);
    subtract(side_, other_side_);
    follow<Addition>(side_, 2 * i + (adds_right ? 1 : 0));
    follow<Addition>(other_side_, 2 * i + (adds_right ? 0 : 1));
  }
}

template <class Addition>
void Twigs::follow_left_sides(const FeatureGroups& groups) {
  Interval held;
  for (std::size_t i = groups.first_test; i < groups.last_test; ++i) {
    grow_to(tests_[i], held);
    follow<Addition>(side_, 2 * i);
  }
}

// Tests of one form come with growing intervals, so that most tables grow from the one before.
void Twigs::grow_to(const Interval& wanted, Interval& held) {
  if (!held.grows_to(wanted)) {
    clear(side_);
    held = {wanted.first, wanted.first};
    add_group(wanted.first, side_);
  }
  while (held.last < wanted.last) add_group(++held.last, side_);
}

template <class Addition>
void Twigs::follow_right_sides(const FeatureGroups& groups) {
  Interval held;
  for (std::size_t i = groups.last_test; i-- > groups.first_test;) {
    const auto [first, last] = tests_[i];
    if (held.is_empty() || !tests_[i].grows_to(held)) {
      clear(side_);
      for (std::size_t group = 0; group < groups.n_groups; ++group) {
        if (group < first || group > last) add_group(group, side_);
      }
    } else {
      for (std::size_t group = held.last; group > last; --group) add_group(group, side_);
    }
    held = tests_[i];
    follow<Addition>(side_, 2 * i + 1);
  }
}

// Writes down the terms of a child: to stop, and each of its splits into two leaves.
template <class Addition>
void Twigs::follow(const Table& child, std::size_t place) {
  steps_.add(n_slots_ + splits_.size());
  statistics_.clear();
  list_splits(child);
  const std::size_t n_statistics = width_ - 1;
  const std::size_t n = statistics_.size() / n_statistics / 2;
  const double* total = values_at(child, n_slots_) + 1;
  statistics_.insert(statistics_.end(), total, total + n_statistics);
  log_leaves_.assign(2 * n + 1, 0.0);
  if (leaf_ != nullptr) leaf_->log_marginal_each(statistics_.data(), 2 * n + 1, log_leaves_.data());
  terms_.log_terms.push_back(log_leaves_[2 * n] + prior_.log_stop(depth_ + 1, n));
  if (n > 0) {
    const double log_rest = prior_.log_split(depth_ + 1, n) + 2 * prior_.log_stop(depth_ + 2, 0);
    for (std::size_t i = 0; i < n; ++i) {
      terms_.log_terms.push_back(log_leaves_[2 * i] + log_leaves_[2 * i + 1] + log_rest);
    }
  }
  terms_.ends.push_back(terms_.log_terms.size());
  places_.push_back(place);
  if (terms_.log_terms.size() > kTermsTogether) reduce_terms<Addition>();
}

template <class Addition>
void Twigs::reduce_terms() {
  Addition::reduce(terms_);
  for (std::size_t i = 0; i < places_.size(); ++i) child_values_[places_[i]] = terms_.values[i];
  terms_.ends.clear();
  terms_.log_terms.clear();
  places_.clear();
}

void Twigs::list_splits(const Table& child) {
  if (!is_enough(values_at(child, n_slots_)[0], fold_.family().min_samples_split)) return;
  for (const FeatureGroups& groups : features_) {
    if (!fold_.is_exact()) add_up_from_above(groups, child);
    list_splits_on(groups, child);
  }
  seen_.clear();
}

void Twigs::add_up_from_above(const FeatureGroups& groups, const Table& child) {
  from_above_.assign((groups.n_groups + 1) * width_, 0.0);
  for (std::size_t group = groups.n_groups; group-- > 0;) {
    const double* added = values_at(child, groups.first_slot + group);
    for (std::size_t v = 0; v < width_; ++v) {
      from_above_[group * width_ + v] = from_above_[(group + 1) * width_ + v] + added[v];
    }
  }
}

// The box's splits on one feature, as they divide the child.
void Twigs::list_splits_on(const FeatureGroups& groups, const Table& child) {
  const Fingerprint all = child.keys[n_slots_];
  const double* total = values_at(child, n_slots_);
  const double minimum = fold_.family().min_samples_leaf;
  left_.assign(width_ * 2, 0.0);
  double* right = left_.data() + width_;
  Fingerprint key;
  Interval held;
  const auto add = [&](std::size_t group) {
    key += child.keys[groups.first_slot + group];
    const double* added = values_at(child, groups.first_slot + group);
    for (std::size_t v = 0; v < width_; ++v) left_[v] += added[v];
  };
  for (std::size_t i = groups.first_test; i < groups.last_test; ++i) {
    const auto [first, last] = tests_[i];
    if (!held.grows_to(tests_[i])) {
      std::fill_n(left_.begin(), width_, 0.0);
      key = {};
      held = {first, first};
      add(first);
    }
    while (held.last < last) add(++held.last);
    const Fingerprint other = all - key;
    if (key == Fingerprint{} || other == Fingerprint{} || !seen_.insert(is_less(key, other) ? key : other)) continue;
    for (std::size_t v = 0; v < width_; ++v) {
      right[v] = fold_.is_exact() ? total[v] - left_[v] : from_above_[(last + 1) * width_ + v];
    }
    for (std::size_t group = 0; group < first && !fold_.is_exact(); ++group) {
      const double* added = values_at(child, groups.first_slot + group);
      for (std::size_t v = 0; v < width_; ++v) right[v] += added[v];
    }
    if (!is_enough(left_[0], minimum) || !is_enough(right[0], minimum)) continue;
    statistics_.insert(statistics_.end(), left_.begin() + 1, left_.begin() + static_cast<std::ptrdiff_t>(width_));
    statistics_.insert(statistics_.end(), right + 1, right + width_);
  }
}

template double Twigs::value<LogSum>(std::span<const Cell>, double);
template double Twigs::value<Maximum>(std::span<const Cell>, double);

}  // namespace bcart
