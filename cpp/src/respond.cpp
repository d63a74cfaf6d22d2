#include "bcart/respond.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "bcart/exponential.hpp"

namespace bcart {
namespace {

constexpr std::size_t kMaxLanes = 8;
constexpr std::size_t kMaxBytes = std::size_t{1} << 30;  // for the weights of all workers
constexpr std::size_t kCheckEvery = 4096;                // boxes
constexpr double kRounding = 0x1p-53;
constexpr double kLeast = 1e-300;  // probabilities below it count as zero

// 1 for each lane whose bit is set, so that loops over lanes need no branches.
constexpr auto kChosen = [] {
  std::array<std::array<double, kMaxLanes>, std::size_t{1} << kMaxLanes> chosen{};
  for (std::size_t lanes = 0; lanes < chosen.size(); ++lanes) {
    for (std::size_t lane = 0; lane < kMaxLanes; ++lane) chosen[lanes][lane] = static_cast<double>(lanes >> lane & 1);
  }
  return chosen;
}();

// The probability that queries meet and end in each box: one pass from the root downwards over the boxes that they can
// reach. A few queries, one a lane, share the look at each box. What comes out does not depend on the company. Boxes
// that are met with so small a probability that all of them together have less than `may_lose` are not followed any
// further.
template <std::size_t kLanes>
class Pass {
 public:
  using Lanes = double[kLanes];

  Pass(const Grammar& grammar, const Queries& queries, double may_lose)
      : grammar_(grammar),
        queries_(queries),
        negligible_(may_lose / static_cast<double>(grammar.depths.n_places())),
        weights_(grammar.depths.n_places() * kLanes),
        waiting_((grammar.graph.n_boxes() + 63) / 64),
        left_(queries.n_tests),
        undecided_(queries.n_tests) {}

  // Calls end(box, probabilities) for each box in which one of the queries may end.
  template <class End>
  void run(std::size_t first_query, std::size_t n, Workers& workers, std::size_t worker, const End& end) {
    find_sides(first_query, n);
    std::fill_n(weights_.data(), n, 1.0);
    waiting_[0] = 1;
    std::size_t n_met = 0;
    for (std::size_t word = 0; word < waiting_.size(); ++word) {
      while (waiting_[word] != 0) {
        const std::size_t box = 64 * word + static_cast<std::size_t>(std::countr_zero(waiting_[word]));
        waiting_[word] &= waiting_[word] - 1;
        Lanes ending = {};
        pass_on(box, ending);
        end(box, ending);
        if (++n_met % kCheckEvery == 0) workers.checkpoint(worker);
      }
    }
  }

 private:
  void find_sides(std::size_t first_query, std::size_t n) {
    std::fill(left_.begin(), left_.end(), 0);
    std::fill(undecided_.begin(), undecided_.end(), 0);
    for (std::size_t lane = 0; lane < n; ++lane) {
      for (std::size_t test = 0; test < queries_.n_tests; ++test) {
        left_[test] |= static_cast<std::uint8_t>(queries_.is_left(first_query + lane, test) << lane);
        undecided_[test] |= static_cast<std::uint8_t>(queries_.is_undecided(first_query + lane, test) << lane);
      }
    }
  }

  // Moves the weight of a box, at each of its depths, to where its rules lead.
  void pass_on(std::size_t box, Lanes& ending) {
    const std::size_t begin = grammar_.depths.begin(box);
    const std::size_t end = grammar_.depths.end(box);
    for (std::size_t place = begin; place < end; ++place) {
      Lanes weight;
      std::copy_n(&weights_[place * kLanes], kLanes, weight);
      unsigned active = 0;
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        if (weight[lane] <= negligible_) weight[lane] = 0;
        active |= unsigned{weight[lane] > 0} << lane;
      }
      std::fill_n(&weights_[place * kLanes], kLanes, 0.0);
      if (active == 0) continue;
      const std::size_t depth = grammar_.depths.first_depth(box) + (place - begin);
      find_probabilities(box, depth, grammar_.values[place]);
      for (std::size_t lane = 0; lane < kLanes; ++lane) ending[lane] += weight[lane] * probabilities_[0];
      for (std::size_t i = 1; i < probabilities_.size(); ++i) {
        follow_split(grammar_.graph.first_split[box] + i - 1, depth, probabilities_[i], weight, active);
      }
    }
  }

  void find_probabilities(std::size_t box, std::size_t depth, double total) {
    probabilities_.clear();
    grammar_.append_terms(box, depth, probabilities_);
    for (double& term : probabilities_) term -= total;
    exp_all(probabilities_.data(), probabilities_.size());
    for (double& probability : probabilities_) probability = probability < kLeast ? 0 : probability;
  }

  void follow_split(std::size_t split, std::size_t depth, double probability, const Lanes& weight, unsigned active) {
    const std::uint32_t test = grammar_.graph.tests[split];
    unsigned left = left_[test];
    if (const unsigned undecided = undecided_[test] & active; undecided != 0) {
      left = queries_.is_heavier_left(grammar_.graph, split) ? left | undecided : left & ~undecided;
    }
    if ((active & left) != 0) add(grammar_.graph.left[split], depth, probability, weight, left);
    if ((active & ~left) != 0) add(grammar_.graph.right[split], depth, probability, weight, ~left);
  }

  void add(BoxId box, std::size_t depth, double probability, const Lanes& weight, unsigned lanes) {
    double* sums = &weights_[grammar_.depths.place(box, depth + 1) * kLanes];
    const auto& is_chosen = kChosen[lanes % kChosen.size()];
    for (std::size_t lane = 0; lane < kLanes; ++lane) sums[lane] += weight[lane] * probability * is_chosen[lane];
    waiting_[box / 64] |= std::uint64_t{1} << box % 64;
  }

  const Grammar& grammar_;
  const Queries& queries_;
  double negligible_;
  Array<double> weights_;               // of each place, for each lane; zero between runs
  std::vector<std::uint64_t> waiting_;  // one bit a box that has been met and not passed on
  std::vector<std::uint8_t> left_;      // of each test: the lanes that go left, one bit each
  std::vector<std::uint8_t> undecided_;
  std::vector<double> probabilities_;  // of the rules of one box
};

// Calls end(query, box, probability) for all queries, each of them on one thread, its boxes in order; then
// finish(query).
template <std::size_t kLanes, class MakeSink>
void run_in_lanes(const Grammar& grammar, const Queries& queries, double may_lose, const MakeSink& make_sink,
                  Workers& workers) {
  struct alignas(kCacheLine) Tools {
    Pass<kLanes> pass;
    decltype(make_sink()) sink;
  };
  std::vector<Tools> tools;
  for (std::size_t worker = 0; worker < workers.size(); ++worker) {
    tools.push_back({Pass<kLanes>(grammar, queries, may_lose), make_sink()});
  }
  const std::size_t n_groups = (queries.n_queries + kLanes - 1) / kLanes;
  workers.run(n_groups, [&](std::size_t group, std::size_t worker) {
    const std::size_t first = group * kLanes;
    const std::size_t n = std::min(kLanes, queries.n_queries - first);
    auto& [pass, sink] = tools[worker];
    sink.begin(first, n);
    pass.run(first, n, workers, worker, [&](std::size_t box, const double* weights) {
      sink.meet(box);
      for (std::size_t lane = 0; lane < n; ++lane) {
        if (weights[lane] > 0) sink.add(lane, weights[lane]);
      }
    });
    sink.end();
  });
}

// As many lanes as memory and the number of queries allow.
template <class MakeSink>
void run_passes(const Grammar& grammar, const Queries& queries, double may_lose, const MakeSink& make_sink,
                Workers& workers) {
  const std::size_t bytes_a_lane = grammar.depths.n_places() * sizeof(double) * workers.size();
  const std::size_t most = std::max<std::size_t>(1, std::min(kMaxBytes / bytes_a_lane, queries.n_queries));
  switch (std::bit_floor(std::min(most, kMaxLanes))) {
    case 8:
      return run_in_lanes<8>(grammar, queries, may_lose, make_sink, workers);
    case 4:
      return run_in_lanes<4>(grammar, queries, may_lose, make_sink, workers);
    case 2:
      return run_in_lanes<2>(grammar, queries, may_lose, make_sink, workers);
    default:
      return run_in_lanes<1>(grammar, queries, may_lose, make_sink, workers);
  }
}

// Adds up moments as the leaves come in; variances without the cancellation of large squares (Welford's way).
class MomentSink {
 public:
  MomentSink(const Graph& graph, const LeafModel& leaf, Response& response)
      : graph_(graph), leaf_(leaf), response_(response), outputs_(leaf.n_outputs()) {}

  void begin(std::size_t first_query, std::size_t n) {
    first_query_ = first_query;
    std::fill_n(total_, n, 0.0);
  }
  void meet(std::size_t box) { leaf_.moments(graph_.statistics.data() + box * graph_.n_statistics, outputs_.data()); }
  void add(std::size_t lane, double weight) {
    total_[lane] += weight;
    for (std::size_t output = 0; output < outputs_.size(); ++output) {
      const std::size_t i = (first_query_ + lane) * outputs_.size() + output;
      const double distance = outputs_[output].mean - response_.mean[i];
      response_.mean[i] += weight / total_[lane] * distance;
      response_.between_trees[i] += weight * distance * (outputs_[output].mean - response_.mean[i]);
      response_.within_leaf[i] += weight * outputs_[output].variance;
      response_.noise[i] += weight * outputs_[output].noise;
    }
  }
  void end() {}

 private:
  const Graph& graph_;
  const LeafModel& leaf_;
  Response& response_;
  std::vector<Moments> outputs_;  // of the box met
  std::size_t first_query_ = 0;
  double total_[kMaxLanes] = {};
};

// Puts leaves of equal statistics together.
class MixtureSink {
 public:
  struct Part {
    std::vector<BoxId> boxes;
    std::vector<double> weights;
  };

  MixtureSink(const Graph& graph, std::vector<Part>& parts) : graph_(graph), parts_(&parts), slots_(1024) {}

  void begin(std::size_t first_query, std::size_t n) {
    first_query_ = first_query;
    n_lanes_ = n;
    clear();
  }
  void meet(std::size_t box) { box_ = static_cast<BoxId>(box); }
  void add(std::size_t lane, double weight) {
    Sums& sums = sums_[find(box_)];
    if (sums.weight[lane] == 0) sums.first[lane] = box_;
    sums.weight[lane] += weight;
  }
  void end() {
    for (std::size_t lane = 0; lane < n_lanes_; ++lane) {
      std::vector<std::pair<BoxId, double>> leaves;
      for (const Sums& sums : sums_) {
        if (sums.weight[lane] != 0) leaves.emplace_back(sums.first[lane], sums.weight[lane]);
      }
      std::sort(leaves.begin(), leaves.end());
      Part& part = (*parts_)[first_query_ + lane];
      for (const auto& [box, weight] : leaves) {
        part.boxes.push_back(box);
        part.weights.push_back(weight);
      }
    }
  }

 private:
  struct Sums {
    std::array<double, kMaxLanes> weight{};
    std::array<BoxId, kMaxLanes> first{};  // box of these statistics that the lane met
  };
  static constexpr std::uint32_t kFree = ~std::uint32_t{0};

  void clear() {
    std::fill(slots_.begin(), slots_.end(), kFree);
    boxes_.clear();
    sums_.clear();
  }
  const double* statistics(BoxId box) const { return graph_.statistics.data() + box * graph_.n_statistics; }
  std::size_t slot_of(BoxId box) const {
    std::uint64_t hash = 0;
    for (std::size_t k = 0; k < graph_.n_statistics; ++k) {
      hash = (hash ^ std::bit_cast<std::uint64_t>(statistics(box)[k] + 0.0)) * 0x9e3779b97f4a7c15ULL;
      hash ^= hash >> 32;
    }
    std::size_t slot = hash & (slots_.size() - 1);
    while (slots_[slot] != kFree && !has_equal_statistics(boxes_[slots_[slot]], box)) {
      slot = (slot + 1) & (slots_.size() - 1);
    }
    return slot;
  }
  bool has_equal_statistics(BoxId one, BoxId other) const {
    return std::equal(statistics(one), statistics(one) + graph_.n_statistics, statistics(other));
  }
  std::size_t find(BoxId box) {
    const std::size_t slot = slot_of(box);
    if (slots_[slot] != kFree) return slots_[slot];
    const std::size_t index = boxes_.size();
    slots_[slot] = static_cast<std::uint32_t>(index);
    boxes_.push_back(box);
    sums_.push_back({});
    if (2 * boxes_.size() > slots_.size()) grow();
    return index;
  }
  void grow() {
    slots_.assign(2 * slots_.size(), kFree);
    for (std::size_t i = 0; i < boxes_.size(); ++i) slots_[slot_of(boxes_[i])] = static_cast<std::uint32_t>(i);
  }

  const Graph& graph_;
  std::vector<Part>* parts_;
  std::vector<std::uint32_t> slots_;  // of a hash table: places in boxes_
  std::vector<BoxId> boxes_;
  std::vector<Sums> sums_;
  std::size_t first_query_ = 0;
  std::size_t n_lanes_ = 0;
  BoxId box_ = 0;
};

}  // namespace

Response respond(const Grammar& grammar, const Queries& queries, const LeafModel& leaf, Workers& workers) {
  const std::size_t size = queries.n_queries * leaf.n_outputs();
  Response response{Array<double>(size), Array<double>(size), Array<double>(size), Array<double>(size)};
  run_passes(grammar, queries, kRounding, [&] { return MomentSink(grammar.graph, leaf, response); }, workers);
  return response;
}

Mixtures mixtures(const Grammar& grammar, const Queries& queries, double may_lose, Workers& workers) {
  std::vector<MixtureSink::Part> parts(queries.n_queries);
  run_passes(grammar, queries, may_lose, [&] { return MixtureSink(grammar.graph, parts); }, workers);
  Mixtures all;
  for (const MixtureSink::Part& part : parts) {
    all.boxes.insert(all.boxes.end(), part.boxes.begin(), part.boxes.end());
    all.weights.insert(all.weights.end(), part.weights.begin(), part.weights.end());
    all.ends.push_back(all.boxes.size());
  }
  return all;
}

}  // namespace bcart
