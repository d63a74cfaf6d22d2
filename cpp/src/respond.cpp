#include "bcart/respond.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <optional>
#include <span>
#include <utility>

#include "bcart/pass.hpp"
#include "bcart/tallies.hpp"
#include "bcart/unfold.hpp"

namespace bcart {
namespace {

constexpr std::size_t kFoldsAtOnce = 64;                  // boxes at the rim
constexpr double kMayLose = 1e-12;                        // of the probability of all leaves that a query can end in
constexpr std::size_t kShareOfVisits = 2;                 // of the bytes, one part may be held for boxes at the rim
constexpr std::size_t kLaneBytes = std::size_t{1} << 27;  // of the weights of queries that share a look at boxes

// Moments of leaves, to be added up for each query.
struct MomentWork {
  using Tally = MomentTally;

  const LeafModel& leaf;
  std::vector<Moments> outputs = std::vector<Moments>(leaf.n_outputs());  // of the leaf met last

  Tally tally(const Graph&) const { return Tally(leaf.n_outputs()); }
  MetLeaf meet(const double* statistics, std::size_t) {
    leaf.moments(statistics, outputs.data());
    return {statistics, outputs.data(), 0};
  }
};

// The leaves themselves.
struct MixtureWork {
  using Tally = MixtureTally;

  Tally tally(const Graph& graph) const { return Tally(graph.n_statistics); }
  MetLeaf meet(const double* statistics, std::size_t width) {
    return {statistics, nullptr, MixtureTally::hash(statistics, width)};
  }
};

// Sends queries through all trees and gathers what they meet, one tally a query.
template <class Work>
class Responder {
 public:
  using Tally = typename Work::Tally;

  Responder(const Grammar& grammar, const Queries& queries, double may_lose, const Work& work, std::size_t max_bytes,
            Workers& workers)
      : grammar_(grammar),
        queries_(queries),
        may_lose_(may_lose / static_cast<double>(1 + grammar.graph.n_folded)),
        work_(work),
        max_bytes_(max_bytes),
        workers_(workers),
        tallies_(queries.n_queries, work.tally(grammar.graph)),
        max_visits_(1 + max_bytes / kShareOfVisits / (3 * sizeof(Visit) + work.tally(grammar.graph).n_bytes())) {}

  // With as many threads as memory allows, and then lanes while their weights are few: in a very large graph, queries
  // meet few boxes together.
  std::vector<Tally> run() {
    const std::size_t lane_bytes = grammar_.depths.n_places() * sizeof(double);
    const std::size_t besides = bytes_besides_lanes(grammar_.graph, queries_);
    const std::size_t most_passes = std::max<std::size_t>(1, std::min(workers_.size(), queries_.n_queries));
    n_passes_ = std::clamp<std::size_t>(max_bytes_ / (lane_bytes + besides), 1, most_passes);
    const std::size_t of_a_pass = std::max(max_bytes_ / n_passes_, besides) - besides;
    const std::size_t n_lanes = std::min(of_a_pass, kLaneBytes) / lane_bytes;
    const std::size_t most = std::max<std::size_t>(1, std::min(n_lanes, queries_.n_queries));
    switch (std::bit_floor(std::min(most, kMaxLanes))) {
      case 8:
        run_in_lanes<8>();
        break;
      case 4:
        run_in_lanes<4>();
        break;
      case 2:
        run_in_lanes<2>();
        break;
      default:
        run_in_lanes<1>();
    }
    return std::move(tallies_);
  }

 private:
  // As many queries at once as may be held at the rim. What comes out does not depend on the company.
  template <std::size_t kLanes>
  void run_in_lanes() {
    const std::size_t n_groups = (queries_.n_queries + kLanes - 1) / kLanes;
    n_passes_ = std::min(n_passes_, n_groups);
    for (std::atomic<std::size_t> next_group = 0; next_group < n_groups;) {
      run_to_rim<kLanes>(next_group, n_groups);
      run_through_fold();
      at_rim_.clear();
    }
  }

  template <std::size_t kLanes>
  void run_to_rim(std::atomic<std::size_t>& next_group, std::size_t n_groups) {
    struct alignas(kCacheLine) Tools {
      Pass<kLanes> pass;
      Work work;
      std::vector<Visit> at_rim;
    };
    std::vector<Tools> tools;
    for (std::size_t i = 0; i < n_passes_; ++i) {
      tools.push_back({Pass<kLanes>(grammar_, queries_, queries_.weight_of, may_lose_), work_, {}});
    }
    std::atomic<std::size_t> n_visits = 0;
    workers_.run(n_passes_, [&](std::size_t i, std::size_t worker) {
      Steps steps(workers_, worker);
      while (n_visits < max_visits_) {
        const std::size_t group = next_group++;
        if (group >= n_groups) return;
        const std::size_t n_before = tools[i].at_rim.size();
        run_group(tools[i].pass, group * kLanes, tools[i].work, tools[i].at_rim, steps);
        n_visits += tools[i].at_rim.size() - n_before;
      }
    });
    for (Tools& own : tools) {
      at_rim_.insert(at_rim_.end(), own.at_rim.begin(), own.at_rim.end());
      own.at_rim = {};
    }
  }

  template <std::size_t kLanes>
  void run_group(Pass<kLanes>& pass, std::size_t first, Work& work, std::vector<Visit>& at_rim, Steps& steps) {
    std::vector<Visit> visits;
    for (std::size_t query = first; query < std::min(first + kLanes, queries_.n_queries); ++query) {
      visits.push_back({0, static_cast<std::uint32_t>(query), 1.0});
    }
    gather(pass, grammar_, visits, work, &tallies_[first], at_rim, steps);
  }

  // Adds what the queries of a few visits meet to their tallies.
  template <std::size_t kLanes>
  void gather(Pass<kLanes>& pass, const Grammar& grammar, std::span<const Visit> visits, Work& work, Tally* tallies,
              std::vector<Visit>& at_rim, Steps& steps) {
    const Graph& graph = grammar.graph;
    pass.run(
        visits, steps,
        [&](std::size_t box, const double* weights) {
          std::optional<MetLeaf> leaf;
          for (std::size_t lane = 0; lane < visits.size(); ++lane) {
            if (!(weights[lane] > 0)) continue;
            if (!leaf) leaf = work.meet(graph.statistics.data() + box * graph.n_statistics, graph.n_statistics);
            tallies[lane].add(*leaf, weights[lane]);
          }
        },
        [&](std::size_t box, const double* weights) {
          for (std::size_t lane = 0; lane < visits.size(); ++lane) {
            if (weights[lane] > 0) at_rim.push_back({static_cast<BoxId>(box), visits[lane].query, weights[lane]});
          }
        });
  }

  // Each box at the rim is unfolded once for all queries that meet it. Its parts of the answers are found in parallel
  // and added in order.
  void run_through_fold() {
    Steps steps(workers_, 0);
    const std::vector<std::span<const Visit>> groups = by_box(at_rim_, steps);
    const std::size_t n_at_once = n_unfolding(grammar_, max_bytes_ - max_bytes_ / kShareOfVisits, workers_.size());
    for (std::size_t first = 0; first < groups.size(); first += kFoldsAtOnce) {
      const std::size_t n = std::min(kFoldsAtOnce, groups.size() - first);
      std::vector<std::vector<Tally>> parts(n);
      workers_.run_few(n_at_once, n, [&](std::size_t i, std::size_t worker) {
        Steps inside(workers_, worker);
        parts[i] = run_through(grammar_, groups[first + i], inside);
      });
      for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t k = 0; k < parts[i].size(); ++k) {
          steps.add(parts[i][k].n_bytes());
          tallies_[groups[first + i][k].query].merge(parts[i][k]);
        }
      }
    }
  }

  static std::vector<std::span<const Visit>> by_box(std::vector<Visit>& visits, Steps& steps) {
    std::sort(visits.begin(), visits.end(), [&](const Visit& a, const Visit& b) {
      steps.add(1);
      return std::pair(a.box, a.query) < std::pair(b.box, b.query);
    });
    std::vector<std::span<const Visit>> groups;
    for (std::size_t begin = 0, end = 0; begin < visits.size(); begin = end) {
      while (end < visits.size() && visits[end].box == visits[begin].box) ++end;
      groups.push_back({visits.data() + begin, end - begin});
    }
    return groups;
  }

  // What is met by the visits of one box at the rim of a graph.
  std::vector<Tally> run_through(const Grammar& whole, std::span<const Visit> visits, Steps& steps) {
    const Unfolded unfolded(whole, visits[0].box, LogSum(), steps);
    const Grammar& grammar = unfolded.grammar();
    std::vector<Tally> tallies(visits.size(), work_.tally(grammar.graph));
    Pass<kMaxLanes> pass(grammar, queries_, unfolded.weights(), may_lose_);
    Work work = work_;
    std::vector<Visit> at_rim;
    for (std::size_t begin = 0; begin < visits.size(); begin += kMaxLanes) {
      const std::size_t n = std::min(kMaxLanes, visits.size() - begin);
      gather(pass, grammar, visits.subspan(begin, n), work, &tallies[begin], at_rim, steps);
    }
    for (const std::span<const Visit> deeper : by_box(at_rim, steps)) {
      const std::vector<Tally> parts = run_through(grammar, deeper, steps);
      for (std::size_t k = 0; k < parts.size(); ++k) {
        steps.add(parts[k].n_bytes());
        const auto place = std::ranges::lower_bound(visits, deeper[k].query, {}, &Visit::query);
        tallies[static_cast<std::size_t>(place - visits.begin())].merge(parts[k]);
      }
    }
    return tallies;
  }

  const Grammar& grammar_;
  const Queries& queries_;
  double may_lose_;  // in each graph on the way, the whole one and those in the fold
  Work work_;
  std::size_t max_bytes_;
  Workers& workers_;
  std::size_t n_passes_ = 1;
  std::vector<Tally> tallies_;
  std::size_t max_visits_;  // at the rim, before its boxes are unfolded
  std::vector<Visit> at_rim_;
};

}  // namespace

Response respond(const Grammar& grammar, const Queries& queries, const LeafModel& leaf, std::size_t max_bytes,
                 Workers& workers) {
  const auto tallies = Responder<MomentWork>(grammar, queries, kMayLose, MomentWork{leaf}, max_bytes, workers).run();
  const std::size_t size = queries.n_queries * leaf.n_outputs();
  Response response{Array<double>(size), Array<double>(size), Array<double>(size), Array<double>(size)};
  std::size_t i = 0;
  for (const MomentTally& tally : tallies) {
    for (const MomentTally::Sums& sums : tally.sums()) {
      response.mean[i] = sums.mean;
      response.between_trees[i] = std::max(0.0, sums.between);  // rounding can leave it below
      response.within_leaf[i] = sums.within;
      response.noise[i] = sums.noise;
      ++i;
    }
  }
  return response;
}

Mixtures mixtures(const Grammar& grammar, const Queries& queries, double may_lose, std::size_t max_bytes,
                  Workers& workers) {
  auto tallies = Responder<MixtureWork>(grammar, queries, may_lose, {}, max_bytes, workers).run();
  std::size_t n_leaves = 0;
  for (const MixtureTally& tally : tallies) n_leaves += tally.weights().size();
  Mixtures all;
  all.ends.reserve(tallies.size());
  all.weights.reserve(n_leaves);
  all.statistics.reserve(n_leaves * grammar.graph.n_statistics);
  for (MixtureTally& each : tallies) {
    const MixtureTally tally = std::move(each);  // which gives its memory back
    all.weights.insert(all.weights.end(), tally.weights().begin(), tally.weights().end());
    all.statistics.insert(all.statistics.end(), tally.statistics().begin(), tally.statistics().end());
    all.ends.push_back(all.weights.size());
  }
  return all;
}

}  // namespace bcart
