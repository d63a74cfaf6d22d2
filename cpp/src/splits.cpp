#include "bcart/splits.hpp"

#include <algorithm>
#include <bit>

namespace bcart {
namespace {

constexpr std::size_t kMaxTinyBox = 7;

// Transposes an 8 x 8 matrix of bits, one row a byte (Warren, Hacker's Delight, 7-3).
std::uint64_t transpose_bits(std::uint64_t x) {
  std::uint64_t t = (x ^ (x >> 7)) & 0x00aa00aa00aa00aaULL;
  x ^= t ^ (t << 7);
  t = (x ^ (x >> 14)) & 0x0000cccc0000ccccULL;
  x ^= t ^ (t << 14);
  t = (x ^ (x >> 28)) & 0x00000000f0f0f0f0ULL;
  return x ^ t ^ (t << 28);
}

// What a bipartition of a box is named by; zero if one side is empty.
std::uint64_t side_without_first_cell(std::uint64_t mask, std::uint64_t all) { return mask ^ (all & (0 - (mask & 1))); }

// The sums over all subsets of each four cells, so that the sum over any subset takes a quarter of the additions.
template <class T>
void add_up_subsets(std::span<const Cell> box, const T* values, std::vector<T>& sums) {
  for (std::size_t i = 0; i < (box.size() + 3) / 4 * 4; ++i) {
    const std::size_t bit = std::size_t{1} << i % 4;
    T* four = &sums[i / 4 * 16];
    if (bit == 1) four[0] = T{};
    const T added = i < box.size() ? values[box[i]] : T{};
    for (std::size_t subset = 0; subset < bit; ++subset) {
      four[bit + subset] = four[subset];
      four[bit + subset] += added;
    }
  }
}

template <class T>
T sum_over(std::uint64_t mask, std::size_t n_cells, const std::vector<T>& sums) {
  T total{};
  for (std::size_t i = 0; i < n_cells; i += 4) total += sums[i * 4 + (mask >> i & 15)];
  return total;
}

}  // namespace

SplitFinder::SplitFinder(const SplitRules& rules)
    : rules_(rules),
      seen_(rules.n_cuts()),
      seen_masks_(rules.n_cuts()),
      masks_(rules.n_words_ * 64),
      tiny_masks_(rules.n_words_ * 64),
      found_cuts_(rules.n_cuts() + 1),
      sums_(kMaxMaskCells / 4 * 16),
      weights_(kMaxMaskCells / 4 * 16),
      bins_(rules.n_bins_) {}

void SplitFinder::find(std::span<const Cell> box, Array<Split>& splits) {
  box.size() <= kMaxMaskCells ? find_by_masks(box, splits) : find_by_bins(box, splits);
}

bool SplitFinder::is_heavy_enough(std::span<const Cell> box) const {
  if (!rules_.checks_box_weight_) return true;
  double weight = 0;
  for (const Cell cell : box) weight += rules_.cells_.weights[cell];
  return is_enough(weight, rules_.family_.min_samples_split);
}

// Both sides are sums of their own: a difference from the total would lose a light side next to a heavy one.
bool SplitFinder::is_allowed(double left_weight, double right_weight) const {
  const double minimum = rules_.family_.min_samples_leaf;
  return is_enough(left_weight, minimum) && is_enough(right_weight, minimum);
}

bool SplitFinder::is_allowed(std::uint64_t mask, std::size_t n_cells) const {
  return is_allowed(sum_over(mask, n_cells, weights_), sum_over(all_cells(n_cells) ^ mask, n_cells, weights_));
}

// The answers of up to eight cells to eight cuts: bit i of byte k is that of cell i to the k-th of them.
std::uint64_t SplitFinder::answers_of_eight(std::span<const Cell> cells, std::size_t byte) const {
  const std::uint64_t* const answers = rules_.answers_.data() + byte / 8;
  std::uint64_t block = 0;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    block |= (answers[cells[i] * rules_.n_words_] >> byte % 8 * 8 & 0xff) << 8 * i;
  }
  return transpose_bits(block);
}

// Cell i of the box becomes bit i of masks[cut].
void SplitFinder::transpose_answers(std::span<const Cell> box, std::uint8_t* masks) const {
  for (std::size_t byte = 0; 8 * byte < rules_.n_cuts(); ++byte) {
    const std::uint64_t block = answers_of_eight(box, byte);
    for (std::size_t k = 0; k < 8; ++k) masks[8 * byte + k] = static_cast<std::uint8_t>(block >> 8 * k);
  }
}

void SplitFinder::transpose_answers(std::span<const Cell> box, std::uint64_t* masks) const {
  for (std::size_t group = 0; 8 * group < box.size(); ++group) {
    const std::span<const Cell> eight = box.subspan(8 * group, std::min<std::size_t>(8, box.size() - 8 * group));
    for (std::size_t byte = 0; 8 * byte < rules_.n_cuts(); ++byte) {
      const std::uint64_t block = answers_of_eight(eight, byte);
      for (std::size_t k = 0; k < 8; ++k) {
        const std::uint64_t bits = (block >> 8 * k & 0xff) << 8 * group;
        masks[8 * byte + k] = group == 0 ? bits : masks[8 * byte + k] | bits;
      }
    }
  }
}

// Both list the cuts that divide the box as none before them does. In a tiny box bit k of `seen` stands for the side
// with mask 2 k, and no branch is taken that could be mispredicted.
std::size_t SplitFinder::list_cuts(std::uint64_t all, const std::uint8_t* masks) {
  std::uint64_t seen = 1;
  std::size_t n_found = 0;
  for (std::size_t cut = 0; cut < rules_.n_cuts(); ++cut) {
    const std::uint64_t side = side_without_first_cell(masks[cut], all);
    const std::uint64_t bit = std::uint64_t{1} << side / 2;
    found_cuts_[n_found] = cut;
    n_found += (seen & bit) == 0 ? 1 : 0;
    seen |= bit;
  }
  return n_found;
}

std::size_t SplitFinder::list_cuts(std::uint64_t all, const std::uint64_t* masks) {
  std::size_t n_found = 0;
  for (std::size_t cut = 0; cut < rules_.n_cuts(); ++cut) {
    const std::uint64_t side = side_without_first_cell(masks[cut], all);
    if (side != 0 && seen_masks_.insert(side)) found_cuts_[n_found++] = cut;
  }
  seen_masks_.clear();
  return n_found;
}

void SplitFinder::find_by_masks(std::span<const Cell> box, Array<Split>& splits) {
  if (box.size() < 2 || !is_heavy_enough(box)) return;
  box.size() <= kMaxTinyBox ? find_in(box, tiny_masks_.data(), splits) : find_in(box, masks_.data(), splits);
}

// Splits are written in place: one that is put together elsewhere and copied waits for its own parts.
template <class Mask>
void SplitFinder::find_in(std::span<const Cell> box, Mask* masks, Array<Split>& splits) {
  transpose_answers(box, masks);
  add_up_subsets<Fingerprint>(box, rules_.fingerprints_.data(), sums_);
  if (rules_.checks_leaf_weight_) add_up_subsets<double>(box, rules_.cells_.weights, weights_);
  const std::uint64_t all = all_cells(box.size());
  const Fingerprint total = sum_over(all, box.size(), sums_);
  const std::size_t n_found = list_cuts(all, masks);
  const std::size_t n_before = splits.size();
  splits.resize(n_before + n_found);
  Split* split = splits.data() + n_before;
  for (std::size_t i = 0; i < n_found; ++i) {
    const std::uint64_t mask = masks[found_cuts_[i]];
    if (rules_.checks_leaf_weight_ && !is_allowed(mask, box.size())) continue;
    split->keys[0] = sum_over(mask, box.size(), sums_);
    split->keys[1] = total - split->keys[0];
    split->n_cells[0] = static_cast<std::uint32_t>(std::popcount(mask));
    split->n_cells[1] = static_cast<std::uint32_t>(box.size()) - split->n_cells[0];
    split->mask = mask;
    split->test = number_of(found_cuts_[i], masks);
    ++split;
  }
  splits.resize(static_cast<std::size_t>(split - splits.data()));
}

// The first of the following cuts with more cells below it ends at the next code that occurs.
template <class Mask>
std::uint32_t SplitFinder::number_of(std::size_t cut, const Mask* masks) const {
  const SplitRules::Cut& asked = rules_.cuts_[cut];
  std::size_t next = cut + 1;
  while (next < asked.block_end && masks[next] == masks[cut]) ++next;
  const bool may_send_missing = asked.form == Form::missing_left || asked.form == Form::missing_right;
  const bool sends_missing = may_send_missing && masks[rules_.first_cut_[asked.feature]] != 0;
  if (next == cut + 1 && may_send_missing == sends_missing) return asked.number;
  const auto upper = asked.last + static_cast<std::uint32_t>(next - cut);
  return rules_.numbers_.number({asked.feature, sends_missing ? asked.form : Form::below, asked.last, upper});
}

void SplitFinder::find_by_bins(std::span<const Cell> box, Array<Split>& splits) {
  if (box.size() < 2 || !is_heavy_enough(box)) return;
  total_ = {};
  for (const Cell cell : box) total_ += rules_.fingerprints_[cell];
  add_up_bins(box);
  for (const std::uint32_t f : rules_.features_) {
    BinSum* bins = &bins_[rules_.first_bin_[f]];
    if (rules_.cells_.kinds[f] == Kind::nominal) {
      list_codes(box, f, splits);
    } else if (rules_.cells_.kinds[f] == Kind::numeric || bins[0].n_cells == 0) {
      list_gaps(box, f, Form::below, splits);
    } else {
      if (bins[0].n_cells < box.size())
        append(box, {f, Form::is_missing, 0, 0}, bins[0], bins[1].weight_from_here, splits);
      list_gaps(box, f, Form::missing_left, splits);
      list_gaps(box, f, Form::missing_right, splits);
    }
    std::fill_n(bins, rules_.cells_.n_bins[f], BinSum{});
  }
  seen_.clear();
}

// The cuts between neighbouring codes that occur; missing values go where the form says.
void SplitFinder::list_gaps(std::span<const Cell> box, std::uint32_t f, Form form, Array<Split>& splits) {
  const BinSum* bins = &bins_[rules_.first_bin_[f]];
  const std::uint32_t first_code = rules_.cells_.kinds[f] == Kind::optional ? 1 : 0;
  BinSum left = form == Form::missing_left ? bins[0] : BinSum{};
  const double missing_right = form == Form::missing_right ? bins[0].weight : 0;
  bool has_lower = false;
  std::uint32_t lower = 0;
  for (std::uint32_t code = first_code; code < rules_.cells_.n_bins[f]; ++code) {
    const BinSum& bin = bins[code];
    if (bin.n_cells == 0) continue;
    if (has_lower) append(box, {f, form, lower, code}, left, bin.weight_from_here + missing_right, splits);
    left.sum += bin.sum;
    left.weight += bin.weight;
    left.n_cells += bin.n_cells;
    lower = code;
    has_lower = true;
  }
}

// Each code that occurs against the rest.
void SplitFinder::list_codes(std::span<const Cell> box, std::uint32_t f, Array<Split>& splits) {
  const BinSum* bins = &bins_[rules_.first_bin_[f]];
  double weight_below = 0;
  for (std::uint32_t code = 0; code < rules_.cells_.n_bins[f]; ++code) {
    if (bins[code].n_cells == 0) continue;
    if (bins[code].n_cells == box.size()) return;
    const double weight_above = code + 1 < rules_.cells_.n_bins[f] ? bins[code + 1].weight_from_here : 0;
    append(box, {f, Form::equals, code, code}, bins[code], weight_below + weight_above, splits);
    weight_below += bins[code].weight;
  }
}

void SplitFinder::append(std::span<const Cell> box, const Test& test, const BinSum& left, double right_weight,
                         Array<Split>& splits) {
  const Fingerprint right = total_ - left.sum;
  const std::uint32_t first_code = rules_.cells_.row(box.front())[test.feature];
  if (!seen_.insert(test.is_left(first_code) ? right : left.sum) || !is_allowed(left.weight, right_weight)) return;
  const std::uint32_t n_right = static_cast<std::uint32_t>(box.size()) - left.n_cells;
  splits.resize(splits.size() + 1);
  splits[splits.size() - 1] = {{left.sum, right}, {left.n_cells, n_right}, 0, rules_.numbers_.number(test)};
}

void SplitFinder::add_up_bins(std::span<const Cell> box) {
  for (const Cell cell : box) {
    const Code* row = rules_.cells_.row(cell);
    for (const std::uint32_t f : rules_.features_) {
      BinSum& bin = bins_[rules_.first_bin_[f] + row[f]];
      bin.sum += rules_.fingerprints_[cell];
      bin.weight += rules_.cells_.weights[cell];
      ++bin.n_cells;
    }
  }
  for (const std::uint32_t f : rules_.features_) {
    double weight = 0;
    BinSum* const bins = &bins_[rules_.first_bin_[f]];
    for (std::size_t code = rules_.cells_.n_bins[f]; code-- > 0;) {
      weight += bins[code].weight;
      bins[code].weight_from_here = weight;
    }
  }
}

}  // namespace bcart
