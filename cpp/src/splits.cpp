#include "bcart/splits.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace bcart {
namespace {

constexpr std::size_t kMaxMaskCells = 64;
constexpr std::size_t kMaxTinyBox = 7;
constexpr std::size_t kMaxSmallBox = 20;  // beyond, 2^(cells-1) bipartitions bound nothing

// Transposes an 8 x 8 matrix of bits, one row a byte (Warren, Hacker's Delight, 7-3).
std::uint64_t transpose_bits(std::uint64_t x) {
  std::uint64_t t = (x ^ (x >> 7)) & 0x00aa00aa00aa00aaULL;
  x ^= t ^ (t << 7);
  t = (x ^ (x >> 14)) & 0x0000cccc0000ccccULL;
  x ^= t ^ (t << 14);
  t = (x ^ (x >> 28)) & 0x00000000f0f0f0f0ULL;
  return x ^ t ^ (t << 28);
}

}  // namespace

SplitRules::SplitRules(const Cells& cells, const Family& family)
    : cells_(cells), family_(family), fingerprints_(cell_fingerprints(cells.n_cells)) {
  for (const std::size_t n_bins : cells.n_bins) {
    first_cut_.push_back(n_cuts_);
    n_cuts_ += n_bins - 1;
  }
  first_cut_.push_back(n_cuts_);
  n_words_ = (n_cuts_ + 63) / 64;
  answers_.assign(cells.n_cells * n_words_, 0);
  for (Cell cell = 0; cell < cells.n_cells; ++cell) {
    for (std::size_t f = 0; f < cells.n_features; ++f) {
      for (std::size_t cut = first_cut_[f] + cells.row(cell)[f]; cut < first_cut_[f + 1]; ++cut) {
        answers_[cell * n_words_ + cut / 64] |= std::uint64_t{1} << cut % 64;
      }
    }
  }
  const double* lightest = std::min_element(cells.weights, cells.weights + cells.n_cells);
  checks_leaf_weight_ = cells.n_cells > 0 && !is_enough(*lightest, family.min_samples_leaf);
}

std::size_t SplitRules::max_splits(std::size_t n_cells) const {
  const std::size_t by_cuts = std::min(n_cuts_, (n_cells - 1) * cells_.n_features);
  return n_cells > kMaxSmallBox ? by_cuts : std::min(by_cuts, (std::size_t{1} << (n_cells - 1)) - 1);
}

SplitFinder::SplitFinder(const SplitRules& rules)
    : rules_(rules),
      seen_(rules.n_cuts_),
      seen_masks_(rules.n_cuts_),
      columns_(kMaxMaskCells / 8 * rules.n_words_ * 64),
      bins_(rules.n_cuts_ + rules.cells_.n_features) {}

void SplitFinder::find(std::span<const Cell> box, std::vector<Split>& splits) {
  box.size() <= kMaxMaskCells ? find_by_masks(box, splits) : find_by_bins(box, splits);
}

bool SplitFinder::is_splittable(std::span<const Cell> box) {
  total_ = {};
  total_weight_ = 0;
  for (const Cell cell : box) {
    total_ += rules_.fingerprints_[cell];
    total_weight_ += rules_.cells_.weights[cell];
  }
  return box.size() > 1 && is_enough(total_weight_, rules_.family_.min_samples_split);
}

bool SplitFinder::is_allowed(double left_weight) const {
  const double minimum = rules_.family_.min_samples_leaf;
  return is_enough(left_weight, minimum) && is_enough(total_weight_ - left_weight, minimum);
}

// Cell i of the box becomes bit i % 8 of columns_[i / 8][cut].
void SplitFinder::transpose_answers(std::span<const Cell> box) {
  n_groups_ = (box.size() + 7) / 8;
  const std::size_t width = rules_.n_words_ * 64;
  for (std::size_t group = 0; group < n_groups_; ++group) {
    const std::size_t n_rows = std::min<std::size_t>(8, box.size() - 8 * group);
    for (std::size_t word = 0; word < rules_.n_words_; ++word) {
      std::uint64_t rows[8] = {};
      for (std::size_t i = 0; i < n_rows; ++i) rows[i] = rules_.answers_[box[8 * group + i] * rules_.n_words_ + word];
      const std::size_t n_bytes = std::min<std::size_t>(8, (rules_.n_cuts_ - 64 * word + 7) / 8);
      for (std::size_t byte = 0; byte < n_bytes; ++byte) {
        std::uint64_t block = 0;
        for (std::size_t i = 0; i < 8; ++i) block |= (rows[i] >> 8 * byte & 0xff) << 8 * i;
        block = transpose_bits(block);
        std::uint8_t* column = &columns_[group * width + 64 * word + 8 * byte];
        for (std::size_t j = 0; j < 8; ++j) column[j] = static_cast<std::uint8_t>(block >> 8 * j);
      }
    }
  }
}

std::uint64_t SplitFinder::mask_of(std::size_t cut) const {
  std::uint64_t mask = 0;
  for (std::size_t group = 0; group < n_groups_; ++group) {
    mask |= std::uint64_t{columns_[group * rules_.n_words_ * 64 + cut]} << 8 * group;
  }
  return mask;
}

void SplitFinder::append(std::span<const Cell> box, std::uint64_t mask, std::uint64_t all, const Test& test,
                         std::vector<Split>& splits) const {
  const auto n_left = static_cast<std::uint32_t>(std::popcount(mask));
  const auto n_right = static_cast<std::uint32_t>(box.size()) - n_left;
  const bool sums_right = n_left > n_right;
  Fingerprint sum;
  double weight = 0;
  for (std::uint64_t rest = sums_right ? all ^ mask : mask; rest != 0; rest &= rest - 1) {
    const Cell cell = box[static_cast<std::size_t>(std::countr_zero(rest))];
    sum += rules_.fingerprints_[cell];
    if (rules_.checks_leaf_weight_) weight += rules_.cells_.weights[cell];
  }
  if (rules_.checks_leaf_weight_ && !is_allowed(weight)) return;
  const Fingerprint other = total_ - sum;
  splits.push_back({test, {n_left, n_right}, {sums_right ? other : sum, sums_right ? sum : other}});
}

void SplitFinder::find_by_masks(std::span<const Cell> box, std::vector<Split>& splits) {
  if (!is_splittable(box)) return;
  transpose_answers(box);
  const std::uint64_t all = ~std::uint64_t{0} >> (64 - box.size());
  std::uint64_t seen_tiny = 0;  // in boxes of up to seven cells, bit k: the side with mask 2 k was met
  const auto is_new = [&](std::uint64_t side) {
    if (box.size() > kMaxTinyBox) return seen_masks_.insert(side);
    const std::uint64_t bit = std::uint64_t{1} << side / 2;
    return (std::exchange(seen_tiny, seen_tiny | bit) & bit) == 0;
  };
  for (std::uint32_t f = 0; f < rules_.cells_.n_features; ++f) {
    const std::size_t first = rules_.first_cut_[f];
    const auto n_cuts = static_cast<std::uint32_t>(rules_.first_cut_[f + 1] - first);
    std::uint64_t below = 0;  // cells up to the last code that occurs, `lower`
    std::uint32_t lower = 0;
    for (std::uint32_t code = 0; code <= n_cuts && below != all; ++code) {
      const std::uint64_t mask = code < n_cuts ? mask_of(first + code) : all;
      if (mask == below) continue;
      if (below != 0 && is_new((below & 1) != 0 ? all ^ below : below)) {
        append(box, below, all, {f, lower, code}, splits);
      }
      below = mask;
      lower = code;
    }
  }
  seen_masks_.clear();
}

void SplitFinder::find_by_bins(std::span<const Cell> box, std::vector<Split>& splits) {
  if (!is_splittable(box)) return;
  add_up_bins(box);
  const Code* first_row = rules_.cells_.row(box.front());
  for (std::uint32_t f = 0; f < rules_.cells_.n_features; ++f) {
    Fingerprint below;  // of the cells up to the last code that occurs, `lower`
    std::uint32_t n_below = 0;
    std::uint32_t lower = 0;
    double weight_below = 0;
    for (std::uint32_t code = 0; code < rules_.cells_.n_bins[f]; ++code) {
      const BinSum bin = std::exchange(bins_[rules_.first_bin(f) + code], BinSum{});
      if (bin.n_cells == 0) continue;
      if (n_below > 0) {
        const Fingerprint above = total_ - below;
        if (seen_.insert(first_row[f] <= lower ? above : below) && is_allowed(weight_below)) {
          const auto n_above = static_cast<std::uint32_t>(box.size()) - n_below;
          splits.push_back({{f, lower, code}, {n_below, n_above}, {below, above}});
        }
      }
      below += bin.sum;
      n_below += bin.n_cells;
      weight_below += bin.weight;
      lower = code;
    }
  }
  seen_.clear();
}

void SplitFinder::add_up_bins(std::span<const Cell> box) {
  for (const Cell cell : box) {
    const Code* row = rules_.cells_.row(cell);
    for (std::size_t f = 0; f < rules_.cells_.n_features; ++f) {
      BinSum& bin = bins_[rules_.first_bin(f) + row[f]];
      bin.sum += rules_.fingerprints_[cell];
      bin.weight += rules_.cells_.weights[cell];
      ++bin.n_cells;
    }
  }
}

}  // namespace bcart
