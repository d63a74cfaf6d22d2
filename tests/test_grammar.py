"""The grammar: its rules against each other, and against NLTK's parsers, which know nothing of trees over data."""

import math

import numpy as np
import pytest
from nltk.grammar import PCFG, Nonterminal
from nltk.parse import InsideChartParser, ViterbiParser
from nltk.parse.generate import generate

import bcart
from bcart import Cells, DepthDecayPrior, Family, LeafCountPrior, Posterior, Rule, Symbol, Terminal

CODES = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [2, 0], [2, 1], [3, 0]])
COUNTS = np.array([[4, 0], [0, 3], [0, 5], [6, 1], [1, 1], [0, 2], [2, 0]])
PRIORS = {"leaf-count": LeafCountPrior(0.5), "depth-decay": DepthDecayPrior(0.9, 0.7)}
DEPTHS = {"all depths": None, "depth 1": 1, "depth 2": 2, "depth 3": 3}


def make(prior=PRIORS["leaf-count"], max_depth=None, codes=CODES, counts=COUNTS, **kinds):
    cells = Cells(codes, counts, **kinds)
    return Posterior(bcart.build_graph(cells, Family(max_depth)), prior=prior, n_jobs=1)


@pytest.fixture(scope="module", params=DEPTHS)
def max_depth(request):
    return DEPTHS[request.param]


@pytest.fixture(scope="module", params=PRIORS)
def prior(request):
    return PRIORS[request.param]


@pytest.fixture(scope="module")
def posterior(prior, max_depth):
    return make(prior, max_depth)


# By itself


def test_the_rules_of_every_nonterminal_sum_to_one(posterior):
    grammar = posterior.grammar()
    symbols = list(grammar.nonterminals)
    assert len(symbols) == len(set(symbols)) == grammar.n_nonterminals
    for symbol in symbols:
        rules = grammar.rules(symbol)
        assert all(rule.parent == symbol for rule in rules)
        assert all(0 <= rule.probability <= 1 for rule in rules)
        assert sum(rule.probability for rule in rules) == pytest.approx(1.0, abs=1e-13)


def test_every_rule_leads_to_symbols_of_the_grammar_and_every_symbol_is_led_to(posterior):
    grammar = posterior.grammar()
    met = {grammar.start}
    for rule in grammar:
        assert rule.parent in met, "parents come before children"
        met |= set(rule.children)
    assert met == {*grammar.nonterminals, *grammar.terminals}


def test_a_box_stops_first_and_then_makes_its_splits_in_their_order(posterior):
    grammar = posterior.grammar()
    for symbol in grammar.nonterminals:
        stop, *splits = grammar.rules(symbol)
        assert stop.children == (Terminal(symbol.box),)
        assert stop.test is None
        has_depth_left = symbol.depth is None or symbol.depth != posterior.max_depth
        numbers = list(posterior.graph.splits_of(symbol.box)) if has_depth_left else []
        core = posterior.graph.core
        children = [tuple(child.box for child in rule.children) for rule in splits]
        assert children == [(core.left[split], core.right[split]) for split in numbers]


def test_rules_are_named_by_the_test_whose_yes_is_their_first_child():
    posterior = make()
    values = posterior.graph.cells.codes
    _, *splits = posterior.grammar().rules()
    for rule in splits:
        name, threshold = rule.test.split(" < ")
        is_left = values[:, int(name[1:])] < float(threshold)
        children = tuple(child.box for child in rule.children)
        assert posterior.graph.find_split(0, np.arange(len(values)), is_left) == children
        assert str(rule).endswith(f"] {rule.test}")


def test_iterating_yields_as_many_rules_as_the_length_says(posterior):
    grammar = posterior.grammar()
    rules = list(grammar)
    assert len(rules) == len(grammar) == len({(rule.parent, rule.children) for rule in rules})
    assert rules == [rule for symbol in grammar.nonterminals for rule in grammar.rules(symbol)]
    assert f"{len(rules)} rules" in repr(grammar)


def test_depth_is_part_of_a_symbol_only_where_it_matters():
    assert str(make().grammar().start) == "N0"
    assert {symbol.depth for symbol in make().grammar().nonterminals} == {None}
    for posterior in (make(max_depth=2), make(PRIORS["depth-decay"])):
        symbols = list(posterior.grammar().nonterminals)
        assert posterior.grammar().start == Symbol(0, 0)
        n_splits = posterior.graph.core.n_splits_of
        assert all((symbol.depth is None) == (n_splits[symbol.box] == 0) for symbol in symbols)


def test_a_box_without_depth_left_stops():
    grammar = make(max_depth=2).grammar()
    deepest = [symbol for symbol in grammar.nonterminals if symbol.depth == 2]
    assert deepest
    for symbol in deepest:
        assert grammar.rules(symbol) == [Rule(symbol, (Terminal(symbol.box),), 1.0)]


def test_a_number_stands_for_a_box_at_its_least_depth():
    assert make().grammar().rules(3) == make().grammar().rules(Symbol(3))
    limited = make(max_depth=2).grammar()
    assert limited.rules() == limited.rules(0) == limited.rules(Symbol(0, 0))


@pytest.mark.parametrize("symbol", [-1, 10**9, Symbol(-1), Symbol(10**6, 0), Symbol(0, 1), Symbol(0, -1), Symbol(0)])
def test_symbols_that_do_not_exist_are_refused(symbol):
    with pytest.raises(bcart.InvalidModelError):
        make(max_depth=2).grammar().rules(symbol)


def test_symbols_with_a_depth_are_refused_where_depth_does_not_matter():
    with pytest.raises(bcart.InvalidModelError, match="N0@0 is no non-terminal: box 0 has no depth"):
        make().grammar().rules(Symbol(0, 0))


# Against NLTK


def leaf_boxes(posterior, tree):
    """The leaves of a tree as terminals in the order of the grammar, and its bracketing.

    Follows the training cells through the tree, and finds the rule that parts them so.
    """
    grammar, cells = posterior.grammar(), posterior.graph.cells
    goes = [path_of(tree, row) for row in cells.codes.astype(float)]

    def derive(node, symbol, members):
        rules = grammar.rules(symbol)
        if tree.feature[node] < 0:
            return [f"M{symbol.box}"], f"({symbol} M{symbol.box})", rules[0].probability
        is_left = np.array([tree.left[node] in goes[cell] for cell in members])
        children = posterior.graph.find_split(symbol.box, members, is_left)
        (rule,) = [rule for rule in rules[1:] if {child.box for child in rule.children} == set(children)]
        words, brackets, probability = [], [], rule.probability
        for child in rule.children:
            is_in_left = child.box == children[0]
            side = int(tree.left[node] if is_in_left else tree.right[node])
            part = derive(side, child, members[is_left if is_in_left else ~is_left])
            words, brackets, probability = words + part[0], [*brackets, part[1]], probability * part[2]
        return words, f"({symbol} {' '.join(brackets)})", probability

    return derive(0, grammar.start, np.arange(cells.n_cells))


def path_of(tree, row):
    path = [0]
    while tree.feature[path[-1]] >= 0:
        node = path[-1]
        value, category = row[tree.feature[node]], tree.category[node]
        goes_left = value == category if category >= 0 else value < tree.threshold[node]
        path.append(int(tree.left[node] if goes_left else tree.right[node]))
    return path


def test_every_tree_has_the_probability_of_its_derivation(posterior):
    for tree in {posterior.map_tree(), *posterior.sample(50, 0)}:
        probability = leaf_boxes(posterior, tree)[2]
        assert math.log(probability) == pytest.approx(posterior.log_probability(tree), abs=1e-11)


def test_the_viterbi_parse_of_the_leaves_of_the_best_tree_is_that_tree(posterior):
    best = posterior.map_tree()
    words, brackets, _ = leaf_boxes(posterior, best)
    (parse,) = ViterbiParser(posterior.grammar().to_nltk()).parse(words)
    assert " ".join(parse.pformat(margin=10**6).split("(p=")[0].split()) == brackets
    assert math.log(parse.prob()) == pytest.approx(best.log_probability, abs=1e-11)


def test_the_best_tree_over_labels_and_missing_values_is_its_viterbi_parse():
    codes = np.array([[0, 0], [0, 1], [1, 0], [1, 2], [2, 1]])
    posterior = make(LeafCountPrior(-1.0), codes=codes, counts=COUNTS[:5], kinds=["numeric", "nominal"])
    best = posterior.map_tree()
    assert best.n_leaves > 2
    (parse,) = ViterbiParser(posterior.grammar().to_nltk()).parse(leaf_boxes(posterior, best)[0])
    assert math.log(parse.prob()) == pytest.approx(best.log_probability, abs=1e-11)


def test_all_derivations_of_all_sentences_have_probability_one_together(posterior):
    grammar = posterior.grammar().to_nltk()
    n_derivations, sentences = 0, set()
    for words in generate(grammar):  # once for each derivation
        n_derivations += 1
        sentences.add(tuple(words))
    assert n_derivations == round(math.exp(posterior.log_n_trees))
    parses = [parse for words in sentences for parse in InsideChartParser(grammar).parse(list(words))]
    assert len(parses) == n_derivations
    assert sum(parse.prob() for parse in parses) == pytest.approx(1.0, abs=1e-11)
    assert max(parse.prob() for parse in parses) == pytest.approx(math.exp(posterior.map_tree().log_probability))


def test_nltk_sees_the_same_rules(posterior):
    ours, theirs = posterior.grammar(), posterior.grammar().to_nltk()
    assert isinstance(theirs, PCFG)
    assert theirs.start() == Nonterminal(str(ours.start))
    assert len(theirs.productions()) == len(ours)
    for rule, production in zip(ours, theirs.productions(), strict=True):
        assert str(production.lhs()) == str(rule.parent)
        assert [str(side) for side in production.rhs()] == [str(child) for child in rule.children]
        assert production.prob() == rule.probability


def test_too_many_rules_are_not_given_to_nltk():
    codes = np.stack(np.meshgrid(np.arange(12), np.arange(12), np.arange(3), indexing="ij"), axis=-1).reshape(-1, 3)
    grammar = make(codes=codes, counts=np.ones((len(codes), 1))).grammar()
    assert len(grammar) > 100_000
    with pytest.raises(bcart.InvalidModelError, match=rf"{len(grammar):,} rules, too many for nltk; set max_depth"):
        grammar.to_nltk()
