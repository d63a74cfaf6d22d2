#include "bcart/fold_choice.hpp"

#include <algorithm>
#include <cmath>

#include "bcart/fold.hpp"

namespace bcart {
namespace {

constexpr double kMaxWantedPairs = 0x1p29;  // of splits, if just that depth is asked for: about a minute for a sweep
constexpr double kMaxFoldedPairs = 0x1p23;  // else: about a second
constexpr double kManyCells = 64;           // for each split of a box
constexpr double kSurely = 4;               // so many times too large, if it is expected two layers before the end
constexpr double kRather = 1.5;             // the same, one layer before it

}  // namespace

bool FoldChoice::is_possible(std::size_t depth) {
  const Layer& layer = layers_[depth];
  const std::size_t n_bytes =
      bytes_.fold + layer.n_boxes * (bytes_.a_box + sizeof(BoxId)) + layer.n_splits * bytes_.a_split;
  if (n_bytes > limits_.max_bytes) return false;
  if (limits_.folding != Folding::automatic) return limits_.folding == Folding::always;
  const double n_pairs = layers_.n_possible(depth, 2);
  if (std::isfinite(workers_.seconds_left()) && !has_time_for(n_pairs, layer)) return false;
  const bool is_wanted = depth + kFoldedLevels == family_.max_depth;
  return n_pairs <= (is_wanted ? kMaxWantedPairs : kMaxFoldedPairs);
}

bool FoldChoice::has_time_for(double n_pairs, const Layer& layer) {
  try {
    if (!sums_a_cell_) sums_a_cell_ = sums_a_cell(cells_, workers_);
  } catch (const DeadlinePassed&) {
    return false;
  }
  const auto n_at_once = static_cast<double>(std::min(workers_.size(), layer.size()));
  return fold_seconds(*sums_a_cell_, static_cast<double>(layer.n_cells), n_pairs) <=
         workers_.seconds_left() * n_at_once;
}

double FoldChoice::expected_bytes(std::size_t depth) const {
  const auto [n_boxes, n_splits] = layers_.expected(depth, *family_.max_depth);
  return n_boxes * static_cast<double>(bytes_.a_box) + n_splits * static_cast<double>(bytes_.a_split) +
         static_cast<double>(bytes_.before_first_box() + layers_[depth].n_cells * sizeof(Cell));
}

// The last two layers would surely take too much memory; or would have to read far more cells than there are splits,
// which a fold reads less often.
bool FoldChoice::is_better(std::size_t depth) {
  if (depth + kFoldedLevels != family_.max_depth || !is_possible(depth)) return false;
  if (limits_.folding != Folding::automatic) return limits_.folding == Folding::always;
  const bool has_time = std::isinf(workers_.seconds_left());  // for a layer in vain
  return static_cast<double>(layers_[depth].n_cells) > kManyCells * layers_.n_possible(depth, 1) ||
         expected_bytes(depth) > (has_time ? kSurely : 1) * static_cast<double>(limits_.max_bytes);
}

bool FoldChoice::is_better_from_above(std::size_t depth) {
  return depth > 0 && depth + 1 == family_.max_depth && limits_.folding == Folding::automatic &&
         expected_bytes(depth) > kRather * static_cast<double>(limits_.max_bytes) && is_possible(depth - 1);
}

}  // namespace bcart
