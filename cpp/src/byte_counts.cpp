#include "bcart/byte_counts.hpp"

#include <algorithm>
#include <cstdint>

#include "bcart/batch.hpp"
#include "bcart/code_sums.hpp"
#include "bcart/fold.hpp"
#include "bcart/graph.hpp"
#include "bcart/splits.hpp"

namespace bcart {
namespace {

constexpr std::size_t kShareOfWork = 16;  // of the bytes, one part may be held by workers at boxes
constexpr std::size_t kLittleWork = 1 << 16;

// Of each box: the table while the graph is built, later the answers of sweeps, what a response needs, and a copy of
// the statistics, which sorting and pickling take, with what comes with it.
constexpr std::size_t bytes_besides(std::size_t statistics) { return 52 + 5 * statistics / 4; }
static_assert(bytes_besides(sizeof(double)) >= Batch::kBytesPerBox);

std::size_t bytes_a_box(std::size_t n_statistics) {
  const std::size_t statistics = n_statistics * sizeof(double);
  return sizeof(std::uint64_t) + 2 * sizeof(std::uint32_t) + statistics + bytes_besides(statistics);
}

std::size_t bytes_a_split(const Cells& cells) {
  return 2 * sizeof(BoxId) + TestArray(TestNumbers(cells.n_bins, cells.kinds).size()).bytes_each();
}

}  // namespace

ByteCounts::ByteCounts(const Cells& cells)
    : workspace((cells.n_cells + 1) * sizeof(Cell) + CodeSums::n_bytes(cells)),
      a_box(bytes_a_box(cells.n_statistics)),
      a_split(bytes_a_split(cells)),
      fold(bytes_of_folding(cells)) {
  const CutCounts counts = count_cuts(cells.n_bins, cells.kinds);
  rules = bytes_of_rules(counts, cells.n_cells);
  work = counts.max_splits(cells.n_cells) * Batch::kBytesPerSplit;
}

std::size_t ByteCounts::n_affordable_workers(std::size_t max_bytes) const {
  return max_bytes / kShareOfWork / std::max(work + workspace, kLittleWork);
}

}  // namespace bcart
