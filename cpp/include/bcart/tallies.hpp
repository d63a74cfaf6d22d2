// What is gathered of the leaves that a query may end in.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "bcart/leaf.hpp"

namespace bcart {

// A leaf that queries may end in.
struct MetLeaf {
  const double* statistics;
  const Moments* outputs;  // one for each output, if moments are gathered
  std::uint64_t hash;      // of the statistics, if leaves are gathered
};

// Adds up moments as the leaves come in; variances without the cancellation of large squares (Welford's way).
class MomentTally {
 public:
  struct Sums {
    double mean = 0;
    double between = 0;
    double within = 0;
    double noise = 0;
  };

  explicit MomentTally(std::size_t n_outputs) : sums_(n_outputs) {}

  std::size_t n_bytes() const { return sizeof(*this) + sums_.size() * sizeof(Sums); }

  void add(const MetLeaf& leaf, double weight) {
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      merge(sums_[i], total_,
            {leaf.outputs[i].mean, 0, weight * leaf.outputs[i].variance, weight * leaf.outputs[i].noise}, weight);
    }
    total_ += weight;
  }
  void merge(const MomentTally& other) {
    if (other.total_ == 0) return;
    for (std::size_t i = 0; i < sums_.size(); ++i) merge(sums_[i], total_, other.sums_[i], other.total_);
    total_ += other.total_;
  }
  const std::vector<Sums>& sums() const { return sums_; }

 private:
  static void merge(Sums& sums, double total, const Sums& added, double weight) {
    const double distance = added.mean - sums.mean;
    sums.mean += weight / (total + weight) * distance;
    sums.between += added.between + weight * distance * (added.mean - sums.mean);
    sums.within += added.within;
    sums.noise += added.noise;
  }

  double total_ = 0;
  std::vector<Sums> sums_;  // of each output
};

// Leaves of equal statistics are one.
class MixtureTally {
 public:
  explicit MixtureTally(std::size_t n_statistics) : n_statistics_(n_statistics) {}

  std::size_t n_bytes() const {
    return sizeof(*this) + slots_.size() * sizeof(std::uint32_t) +
           weights_.size() * (1 + n_statistics_) * sizeof(double);
  }

  static std::uint64_t hash(const double* statistics, std::size_t n) {
    std::uint64_t hash = 0;
    for (std::size_t k = 0; k < n; ++k) {
      hash = (hash ^ std::bit_cast<std::uint64_t>(statistics[k] + 0.0)) * 0x9e3779b97f4a7c15ULL;
      hash ^= hash >> 32;
    }
    return hash;
  }

  void add(const MetLeaf& leaf, double weight) {
    const std::size_t place = find(leaf);
    weights_[place] += weight;
  }
  void merge(const MixtureTally& other) {
    for (std::size_t i = 0; i < other.weights_.size(); ++i) {
      const double* statistics = other.statistics_.data() + i * n_statistics_;
      add({statistics, nullptr, hash(statistics, n_statistics_)}, other.weights_[i]);
    }
  }
  const std::vector<double>& weights() const { return weights_; }
  const std::vector<double>& statistics() const { return statistics_; }

 private:
  static constexpr std::uint32_t kFree = ~std::uint32_t{0};
  static constexpr std::size_t kFirstSize = 64;

  std::size_t slot_of(const double* statistics, std::uint64_t hash) const {
    std::size_t slot = hash & (slots_.size() - 1);
    while (slots_[slot] != kFree && !has(slots_[slot], statistics)) slot = (slot + 1) & (slots_.size() - 1);
    return slot;
  }
  bool has(std::size_t place, const double* statistics) const {
    return std::equal(statistics, statistics + n_statistics_, statistics_.data() + place * n_statistics_);
  }
  std::size_t find(const MetLeaf& leaf) {
    if (2 * weights_.size() >= slots_.size()) grow();
    const std::size_t slot = slot_of(leaf.statistics, leaf.hash);
    if (slots_[slot] != kFree) return slots_[slot];
    slots_[slot] = static_cast<std::uint32_t>(weights_.size());
    weights_.push_back(0);
    statistics_.insert(statistics_.end(), leaf.statistics, leaf.statistics + n_statistics_);
    return slots_[slot];
  }
  void grow() {
    slots_.assign(std::max(kFirstSize, 2 * slots_.size()), kFree);
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      const double* statistics = statistics_.data() + i * n_statistics_;
      slots_[slot_of(statistics, hash(statistics, n_statistics_))] = static_cast<std::uint32_t>(i);
    }
  }

  std::size_t n_statistics_;
  std::vector<std::uint32_t> slots_;  // of a hash table: places in the lists below
  std::vector<double> weights_;
  std::vector<double> statistics_;
};

}  // namespace bcart
