#include "bcart/split_rules.hpp"

#include <algorithm>
#include <unordered_set>

namespace bcart {
namespace {

constexpr std::size_t kBytesPerCut = 80;       // kept, or in use while sides are compared
constexpr std::size_t kFeaturesAtOnce = 8;     // whose codes lie beside each other, by one worker
constexpr std::size_t kCellsAtOnce = 1 << 10;  // the same

void set_bits(std::uint64_t* words, std::size_t begin, std::size_t end) {
  while (begin < end) {
    const std::size_t n = std::min(end, (begin / 64 + 1) * 64) - begin;
    words[begin / 64] |= ~std::uint64_t{0} >> (64 - n) << begin % 64;
    begin += n;
  }
}

}  // namespace

std::size_t bytes_of_rules(const CutCounts& counts, std::size_t n_cells) {
  const std::size_t a_cell = sizeof(Fingerprint) + counts.n_words() * sizeof(std::uint64_t);
  return n_cells * a_cell + counts.n_cuts * kBytesPerCut;
}

SplitRules::SplitRules(const Cells& cells, const Family& family, Workers& workers)
    : cells_(cells), family_(family), numbers_(cells.n_bins, cells.kinds) {
  fingerprints_ = cell_fingerprints(cells_.n_cells);
  features_ = features_that_divide_anew(workers);
  first_bin_.resize(cells_.n_features);
  first_cut_.resize(cells_.n_features);
  for (const std::uint32_t f : features_) counts_.add(cells_.kinds[f], cells_.n_bins[f]);
  cuts_.reserve(counts_.n_cuts);
  for (const std::uint32_t f : features_) {
    first_bin_[f] = n_bins_;
    n_bins_ += cells_.n_bins[f];
    first_cut_[f] = n_cuts();
    for_each_block(cells_.kinds[f], cells_.n_bins[f], [&](const CutBlock& block) { add_cuts(f, block); });
  }
  n_words_ = counts_.n_words();
  const double* lightest = std::min_element(cells_.weights, cells_.weights + cells_.n_cells);
  checks_leaf_weight_ = cells_.n_cells > 0 && !is_enough(*lightest, family_.min_samples_leaf);
  checks_box_weight_ = cells_.n_cells > 0 && !is_enough(2 * *lightest, family_.min_samples_split);
}

// A feature of which every cut divides the cells as a cut of features before it does, such as a copy or the complement
// of one, does so in every box: it is left out.
std::vector<std::uint32_t> SplitRules::features_that_divide_anew(Workers& workers) const {
  std::vector<std::vector<Fingerprint>> sides(cells_.n_features);
  workers.run_ranges(
      0, cells_.n_features, kFeaturesAtOnce,
      [&](std::size_t begin, std::size_t end, std::size_t worker) { find_sides(begin, end, sides, workers, worker); });
  const auto hash = [](const Fingerprint& side) { return static_cast<std::size_t>(side.low); };
  std::unordered_set<Fingerprint, decltype(hash)> seen;
  std::vector<std::uint32_t> found;
  for (std::uint32_t f = 0; f < cells_.n_features; ++f) {
    bool is_new = false;
    for (const Fingerprint& side : sides[f]) is_new |= side != Fingerprint{} && seen.insert(side).second;
    if (is_new) found.push_back(f);
    workers.watch();
  }
  return found;
}

// Of all cells, the side of each cut of some features without the first cell.
void SplitRules::find_sides(std::size_t first_feature, std::size_t last_feature,
                            std::vector<std::vector<Fingerprint>>& sides, Workers& workers, std::size_t worker) const {
  const auto n_bins = cells_.n_bins.begin();
  const std::size_t width = *std::max_element(n_bins + first_feature, n_bins + last_feature);
  std::vector<Fingerprint> bins((last_feature - first_feature) * width);
  for (Cell cell = 0; cell < cells_.n_cells; ++cell) {
    const Code* row = cells_.row(cell);
    Fingerprint* here = bins.data();
    for (std::size_t f = first_feature; f < last_feature; ++f, here += width) here[row[f]] += fingerprints_[cell];
    if (cell % kCellsAtOnce == 0) workers.checkpoint(worker);
  }
  for (std::size_t f = first_feature; f < last_feature; ++f) {
    sides[f] = sides_of_cuts(f, {bins.data() + (f - first_feature) * width, width});
  }
}

std::vector<Fingerprint> SplitRules::sides_of_cuts(std::size_t feature, std::span<Fingerprint> bins) const {
  for (std::size_t code = 1; code < bins.size(); ++code) bins[code] += bins[code - 1];
  const std::uint32_t first_code = cells_.n_cells > 0 ? cells_.row(0)[feature] : 0;
  CutCounts counts;
  counts.add(cells_.kinds[feature], cells_.n_bins[feature]);
  std::vector<Fingerprint> sides;
  sides.reserve(counts.n_cuts);
  for_each_block(cells_.kinds[feature], cells_.n_bins[feature], [&](const CutBlock& block) {
    const Fingerprint before = block.first > 0 ? bins[block.first - 1] : Fingerprint{};
    for (std::uint32_t last = block.begin; last < block.end; ++last) {
      const Fingerprint left = bins[last] - before;
      sides.push_back(block.first <= first_code && first_code <= last ? bins.back() - left : left);
    }
  });
  return sides;
}

void SplitRules::add_cuts(std::size_t feature, const CutBlock& block) {
  const std::size_t block_end = n_cuts() + block.size();
  for (std::uint32_t last = block.begin; last < block.end; ++last) {
    const bool has_gap = block.form != Form::equals && block.form != Form::is_missing;
    const Test test{static_cast<std::uint32_t>(feature), block.form, last, has_gap ? last + 1 : last};
    cuts_.push_back({test.feature, block.form, block.first, last, block_end, numbers_.number(test)});
  }
}

void SplitRules::find_answers(Workers& workers) {
  if (has_answers_) return;
  answers_ = Array<std::uint64_t>(cells_.n_cells * n_words_);
  answers_.expect_filling();
  workers.run_ranges(0, cells_.n_cells, kCellsAtOnce, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t cell = begin; cell < end; ++cell) write_answers(static_cast<Cell>(cell));
  });
  has_answers_ = true;
}

// Cuts of one block hold for a code from some cut on, or for none of them.
void SplitRules::write_answers(Cell cell) {
  for (std::size_t cut = 0; cut < n_cuts(); cut = cuts_[cut].block_end) {
    const std::uint32_t code = cells_.row(cell)[cuts_[cut].feature];
    if (code < cuts_[cut].first) continue;
    const std::size_t begin = cut + (code > cuts_[cut].last ? code - cuts_[cut].last : 0);
    set_bits(answers_.data() + cell * n_words_, begin, cuts_[cut].block_end);
  }
}

}  // namespace bcart
