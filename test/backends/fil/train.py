"""Trains small tree models, and writes their files and the frameworks' own answers.

python train.py <folder> [--seed <n>] [--trees <n>] [--vary] [--only <part of a name>]

Writes <folder>/answers.json and a file for each model. With the defaults it writes what test/backends/fil/fixtures has.
--vary chooses the sizes of trees at random.
Packages: requirements.txt.
"""

import argparse
import json
import re
import warnings
from pathlib import Path

import lightgbm as lgb
import numpy as np
import treelite
import xgboost as xgb
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
)

warnings.filterwarnings("ignore")

TRAINED = 400  # rows to train with
ASKED = 14  # rows whose answers are recorded
FEATURES = 6
CODES = 40  # categories are codes from 0; sets of them need more than one 32-bit word


class Data:
    """Rows to train with and rows to ask for, in three kinds. All numbers have few decimals, so that JSON is exact."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.kinds = {}
        for kind in ("numbers", "categories", "zeros"):
            self.kinds[kind] = (self.rows(kind, TRAINED, False), self.rows(kind, ASKED, True))

    def rows(self, kind: str, count: int, asked: bool) -> np.ndarray:
        random = self.random
        rows = random.normal(size=(count, FEATURES)).round(2)
        if kind == "categories":
            for column in (0, 1):
                rows[:, column] = random.integers(0, CODES if column == 0 else 5, size=count)
            if asked:
                # Codes that were never seen, negative ones and fractions.
                rows[0, 0], rows[1, 0], rows[2, 0], rows[3, 0] = 39 + CODES, -1, 3.5, -0.5
                rows[4, 0], rows[5, 1], rows[6, 1] = 1e6, 31, 32
        if kind == "zeros":
            rows[random.random(rows.shape) < 0.3] = 0
        rows[random.random(rows.shape) < 0.1] = np.nan
        return rows.astype(np.float32)

    def targets(self, kind: str) -> dict[str, np.ndarray]:
        """Targets of each sort for the rows of a kind."""
        rows = np.nan_to_num(self.kinds[kind][0])
        score = np.sin(2 * rows[:, 0]) + rows[:, 1] * rows[:, 2] - 0.5 * rows[:, 3] + (rows[:, 4] > 0.3)
        score = score + 0.1 * self.random.normal(size=len(rows))
        order = np.argsort(np.argsort(score)) / len(score)
        return {
            "score": score,
            "positive": np.exp(0.4 * np.clip(score, -3, 3)),
            "count": self.random.poisson(np.exp(0.3 * np.clip(score, -3, 3))),
            "binary": (order > 0.6).astype(int),
            "share": order,
            "class": np.minimum((order * 3).astype(int), 2),
            "relevance": np.minimum((order * 3).astype(int), 2),
        }


class Record:
    """What was trained: files, and answers."""

    def __init__(self, folder: Path, data: Data, only: str, vary: bool) -> None:
        self.folder, self.data, self.only, self.vary = folder, data, only, vary
        self.models: list[dict] = []

    def depth(self) -> int:
        return int(self.data.random.integers(1, 9)) if self.vary else 3

    def leaves(self) -> int:
        return int(self.data.random.integers(2, 40)) if self.vary else 7

    def wants(self, name: str) -> bool:
        return self.only in name

    def add(self, name: str, suffix: str, content: bytes, type_: str, kind: str, values, **more) -> None:
        """Records a model. `values` has a row of answers for each row that is asked for."""
        (self.folder / f"{name}.{suffix}").write_bytes(content)
        rows = self.data.kinds[kind][1]
        values = np.asarray(values).reshape(len(rows), -1)
        entry = {"name": name, "file": f"{name}.{suffix}", "type": type_, "rows": kind}
        entry |= {"columns": values.shape[1], "values": numbers(values)}
        entry |= {key: numbers(value) if isinstance(value, np.ndarray) else value for key, value in more.items()}
        self.models.append(entry)

    def write(self) -> None:
        rows = {kind: [[None if np.isnan(x) else short(x) for x in row] for row in asked]
                for kind, (_, asked) in self.data.kinds.items()}
        lines = [json.dumps(model, separators=(",", ":")) for model in self.models]
        text = f'{{"rows":{json.dumps(rows, separators=(",", ":"))},\n"models":[\n' + ",\n".join(lines) + "\n]}\n"
        (self.folder / "answers.json").write_text(text)


def short(value: np.float32) -> float:
    """The shortest number that becomes this float."""
    return float(np.format_float_positional(value, unique=True)) if abs(value) < 1e15 else float(value)


def numbers(values: np.ndarray) -> list[float]:
    return [float(f"{value:.9g}") for value in np.asarray(values, np.float64).ravel()]


def softmax(margins: np.ndarray) -> np.ndarray:
    power = np.exp(margins - margins.max(axis=1, keepdims=True))
    return power / power.sum(axis=1, keepdims=True)


# --- XGBoost


def train_xgboost(record: Record, trees: int, seed: int) -> None:
    plain = {"eta": 0.4, "seed": seed, "nthread": 1}
    tasks = [
        # name, target, parameters, kind of rows, formats
        ("squarederror", "score", {"objective": "reg:squarederror"}, "numbers", "json ubj"),
        ("squaredlogerror", "positive", {"objective": "reg:squaredlogerror"}, "numbers", "ubj"),
        ("absoluteerror", "score", {"objective": "reg:absoluteerror"}, "numbers", "json"),
        ("pseudohuber", "score", {"objective": "reg:pseudohubererror"}, "numbers", "ubj"),
        ("quantile", "score", {"objective": "reg:quantileerror", "quantile_alpha": 0.3}, "numbers", "json"),
        ("logistic", "share", {"objective": "reg:logistic"}, "numbers", "ubj"),
        ("binary", "binary", {"objective": "binary:logistic"}, "numbers", "json ubj"),
        ("logitraw", "binary", {"objective": "binary:logitraw"}, "numbers", "json"),
        ("hinge", "binary", {"objective": "binary:hinge"}, "numbers", "ubj"),
        ("softprob", "class", {"objective": "multi:softprob", "num_class": 3}, "numbers", "json ubj"),
        ("softmax", "class", {"objective": "multi:softmax", "num_class": 3}, "numbers", "json"),
        ("poisson", "count", {"objective": "count:poisson"}, "numbers", "json"),
        ("gamma", "positive", {"objective": "reg:gamma"}, "numbers", "ubj"),
        ("tweedie", "positive", {"objective": "reg:tweedie", "tweedie_variance_power": 1.3}, "numbers", "json"),
        ("cox", "cox", {"objective": "survival:cox"}, "numbers", "json"),
        ("aft", "aft", {"objective": "survival:aft", "aft_loss_distribution": "normal"}, "numbers", "ubj"),
        ("pairwise", "relevance", {"objective": "rank:pairwise"}, "numbers", "json"),
        ("ndcg", "relevance", {"objective": "rank:ndcg"}, "numbers", "ubj"),
        ("map", "binary", {"objective": "rank:map"}, "numbers", "json"),
        ("dart", "score", {"booster": "dart", "rate_drop": 0.5, "objective": "reg:squarederror"}, "numbers", "json ubj"),
        ("dart_softprob", "class", {"booster": "dart", "rate_drop": 0.5, "objective": "multi:softprob", "num_class": 3}, "numbers", "ubj"),
        ("forest", "binary", {"objective": "binary:logistic", "num_parallel_tree": 4, "subsample": 0.7, "colsample_bynode": 0.6}, "numbers", "json"),
        ("forest_softprob", "class", {"objective": "multi:softprob", "num_class": 3, "num_parallel_tree": 2, "subsample": 0.7}, "numbers", "ubj"),
        ("exact", "score", {"tree_method": "exact", "objective": "reg:squarederror"}, "zeros", "json"),
        ("deep", "score", {"max_depth": 6, "objective": "reg:squarederror"}, "zeros", "ubj"),
        ("lossguide", "binary", {"grow_policy": "lossguide", "max_leaves": 7, "max_depth": 0, "objective": "binary:logistic"}, "numbers", "json"),
        ("category", "score", {"objective": "reg:squarederror", "max_cat_to_onehot": 4, "max_depth": 4}, "categories", "json ubj"),
        ("category_binary", "binary", {"objective": "binary:logistic", "max_cat_to_onehot": 100}, "categories", "ubj"),
        ("vector_softprob", "class", {"objective": "multi:softprob", "num_class": 3, "multi_strategy": "multi_output_tree"}, "numbers", "json ubj"),
        ("stump", "score", {"max_depth": 1, "objective": "reg:squarederror", "base_score": 2.5}, "numbers", "json"),
    ]
    for name, target, parameters, kind, formats in tasks:
        name = f"xgb_{name}"
        if not record.wants(name):
            continue
        booster = fit_xgboost(record.data, kind, target, plain | {"max_depth": record.depth()} | parameters, trees)
        asked = matrix(record.data.kinds[kind][1], kind)
        more = {}
        # XGBoost has no contributions of trees with a vector in each leaf.
        if "multi_strategy" not in parameters:
            more["contributions"] = booster.predict(asked, pred_contribs=True)
        if parameters["objective"] == "multi:softmax":
            more["probabilities"] = softmax(booster.predict(asked, output_margin=True))
        for suffix in formats.split():
            content = bytes(booster.save_raw(suffix))
            values = booster.predict(asked)
            record.add(f"{name}_{suffix}", suffix, content, f"xgboost_{suffix}", kind, values, **more)
    if record.wants("xgb_old_base"):
        booster = fit_xgboost(record.data, "numbers", "binary", plain | {"max_depth": 3, "objective": "binary:logistic"}, trees)
        text = bytes(booster.save_raw("json")).decode()
        old = re.sub(r'"base_score":"\[([^\]]*)\]"', r'"base_score":"\1"', text)
        old = re.sub(r'"version":\[[^\]]*\]', '"version":[1,7,6]', old)
        assert old != text
        values = booster.predict(matrix(record.data.kinds["numbers"][1], "numbers"))
        record.add("xgb_old_base_json", "json", old.encode(), "xgboost_json", "numbers", values)


def matrix(rows: np.ndarray, kind: str, **labels) -> xgb.DMatrix:
    types = ["c" if kind == "categories" and column < 2 else "q" for column in range(FEATURES)]
    return xgb.DMatrix(rows, feature_types=types, enable_categorical=True, nthread=1, **labels)


def fit_xgboost(data: Data, kind: str, target: str, parameters: dict, trees: int) -> xgb.Booster:
    targets = data.targets(kind)
    rows = data.kinds[kind][0]
    if target == "cox":
        # A negative time is a lower limit.
        labels = {"label": np.where(targets["binary"] == 1, -targets["positive"], targets["positive"])}
    elif target == "aft":
        low = targets["positive"]
        labels = {"label_lower_bound": low, "label_upper_bound": np.where(targets["binary"] == 1, np.inf, low)}
    else:
        labels = {"label": targets[target]}
    if parameters["objective"].startswith("rank:"):
        labels["group"] = [20] * (len(rows) // 20)
    return xgb.train(parameters, matrix(rows, kind, **labels), trees)


# --- LightGBM


def train_lightgbm(record: Record, trees: int, seed: int) -> None:
    plain = {"learning_rate": 0.3, "min_data_in_leaf": 5, "verbose": -1, "num_threads": 1}
    plain |= {"seed": seed, "deterministic": True, "force_row_wise": True}
    rf = {"boosting": "rf", "bagging_fraction": 0.7, "bagging_freq": 1}
    tasks = [
        ("regression", "score", {"objective": "regression"}, "numbers"),
        ("l1", "score", {"objective": "regression_l1"}, "numbers"),
        ("huber", "score", {"objective": "huber"}, "numbers"),
        ("fair", "score", {"objective": "fair"}, "numbers"),
        ("quantile", "score", {"objective": "quantile", "alpha": 0.3}, "numbers"),
        ("mape", "positive", {"objective": "mape"}, "numbers"),
        ("sqrt", "score", {"objective": "regression", "reg_sqrt": True}, "numbers"),
        ("poisson", "count", {"objective": "poisson"}, "numbers"),
        ("gamma", "positive", {"objective": "gamma"}, "numbers"),
        ("tweedie", "positive", {"objective": "tweedie"}, "numbers"),
        ("binary", "binary", {"objective": "binary"}, "numbers"),
        ("binary_sigmoid", "binary", {"objective": "binary", "sigmoid": 0.7}, "numbers"),
        ("multiclass", "class", {"objective": "multiclass", "num_class": 3}, "numbers"),
        ("multiclassova", "class", {"objective": "multiclassova", "num_class": 3, "sigmoid": 1.5}, "numbers"),
        ("cross_entropy", "share", {"objective": "cross_entropy"}, "numbers"),
        ("cross_entropy_lambda", "share", {"objective": "cross_entropy_lambda"}, "numbers"),
        ("lambdarank", "relevance", {"objective": "lambdarank"}, "numbers"),
        ("xendcg", "relevance", {"objective": "rank_xendcg"}, "numbers"),
        ("category", "score", {"objective": "regression", "num_leaves": 12, "min_data_per_group": 5, "cat_smooth": 1}, "categories"),
        ("category_onehot", "binary", {"objective": "binary", "max_cat_to_onehot": 100, "min_data_per_group": 5, "cat_smooth": 1}, "categories"),
        ("zero_as_missing", "score", {"objective": "regression", "zero_as_missing": True}, "zeros"),
        ("no_missing", "score", {"objective": "regression", "use_missing": False}, "zeros"),
        ("dart", "score", {"objective": "regression", "boosting": "dart", "drop_rate": 0.5}, "numbers"),
        ("rf", "binary", {"objective": "binary"} | rf, "numbers"),
        ("rf_multiclass", "class", {"objective": "multiclass", "num_class": 3} | rf, "numbers"),
        ("linear", "score", {"objective": "regression", "linear_tree": True}, "numbers"),
        ("linear_binary", "binary", {"objective": "binary", "linear_tree": True}, "zeros"),
        ("single_leaf", "score", {"objective": "regression", "min_data_in_leaf": 1000}, "numbers"),
    ]
    for name, target, parameters, kind in tasks:
        name = f"lgb_{name}"
        if not record.wants(name):
            continue
        booster = fit_lightgbm(record.data, kind, target, plain | {"num_leaves": record.leaves()} | parameters, trees)
        asked = record.data.kinds[kind][1].astype(np.float64)
        more = {}
        if not parameters.get("linear_tree"):
            contributions = booster.predict(asked, pred_contrib=True)
            # LightGBM does not average them, so that theirs do not add up to the margin.
            averages = parameters.get("boosting") == "rf"
            more["contributions"] = contributions / booster.current_iteration() if averages else contributions
        content = booster.model_to_string().encode()
        record.add(name, "txt", content, "lightgbm", kind, booster.predict(asked), **more)


def fit_lightgbm(data: Data, kind: str, target: str, parameters: dict, trees: int) -> lgb.Booster:
    rows = data.kinds[kind][0].astype(np.float64)
    more = {}
    if kind == "categories":
        more["categorical_feature"] = [0, 1]
    if parameters["objective"] in ("lambdarank", "rank_xendcg"):
        more["group"] = [20] * (len(rows) // 20)
    # Column_2 is what lgb calls it anyway; the parameters of a dataset must come with it.
    labels = data.targets(kind)[target]
    return lgb.train(parameters, lgb.Dataset(rows, labels, params=parameters, **more), trees)


# --- Treelite, with scikit-learn


def train_treelite(record: Record, trees: int, seed: int) -> None:
    rows, asked = record.data.kinds["numbers"]
    known, questions = np.nan_to_num(rows), np.nan_to_num(asked)
    targets = record.data.targets("numbers")
    few = {"n_estimators": trees, "max_depth": record.depth(), "random_state": seed}
    estimators = [
        ("forest_classifier", RandomForestClassifier(**few), "binary"),
        ("forest_multiclass", RandomForestClassifier(**few), "class"),
        ("forest_regressor", RandomForestRegressor(**few), "score"),
        ("extra_classifier", ExtraTreesClassifier(**few), "class"),
        ("extra_regressor", ExtraTreesRegressor(**few), "score"),
        ("boosting_classifier", GradientBoostingClassifier(**few), "binary"),
        ("boosting_multiclass", GradientBoostingClassifier(**few), "class"),
        ("boosting_regressor", GradientBoostingRegressor(**few), "score"),
        ("hist_classifier", HistGradientBoostingClassifier(max_iter=trees, max_depth=record.depth(), random_state=seed), "binary"),
        ("isolation", IsolationForest(n_estimators=trees, max_samples=32, random_state=seed), None),
    ]
    for name, estimator, target in estimators:
        name = f"tl_{name}"
        if not record.wants(name):
            continue
        estimator.fit(known) if target is None else estimator.fit(known, targets[target])
        model = treelite.sklearn.import_model(estimator)
        values = gtil(model, questions)
        # Treelite's answers are the estimator's own.
        if target is None:
            own = -estimator.score_samples(questions)
        elif hasattr(estimator, "predict_proba"):
            own = estimator.predict_proba(questions)
            own = own[:, 1] if values.shape[1] == 1 else own
        else:
            own = estimator.predict(questions)
        assert np.allclose(values.ravel(), np.asarray(own).ravel(), atol=1e-6), name
        checkpoint(record, name, model, "numbers", values, filled=True)
    boosters = [
        ("xgb_binary", "binary", {"objective": "binary:logistic"}, "numbers"),
        ("xgb_softprob", "class", {"objective": "multi:softprob", "num_class": 3}, "numbers"),
        ("xgb_dart", "score", {"booster": "dart", "rate_drop": 0.5, "objective": "reg:squarederror"}, "numbers"),
        ("xgb_poisson", "count", {"objective": "count:poisson"}, "numbers"),
        ("xgb_category", "score", {"objective": "reg:squarederror", "max_cat_to_onehot": 4}, "categories"),
    ]
    for name, target, parameters, kind in boosters:
        name = f"tl_{name}"
        if not record.wants(name):
            continue
        plain = {"max_depth": record.depth(), "eta": 0.4, "seed": seed, "nthread": 1}
        booster = fit_xgboost(record.data, kind, target, plain | parameters, trees)
        questions = matrix(record.data.kinds[kind][1], kind)
        model = treelite.frontend.from_xgboost(booster)
        contributions = booster.predict(questions, pred_contribs=True)
        values = gtil(model, record.data.kinds[kind][1])
        assert np.allclose(values.ravel(), booster.predict(questions).ravel(), atol=1e-5), name
        checkpoint(record, name, model, kind, values, contributions=contributions)
    for name, target, parameters, kind in [
        ("lgb_binary", "binary", {"objective": "binary"}, "numbers"),
        ("lgb_multiclass", "class", {"objective": "multiclass", "num_class": 3}, "numbers"),
        ("lgb_category", "score", {"objective": "regression", "min_data_per_group": 5, "cat_smooth": 1}, "categories"),
    ]:
        name = f"tl_{name}"
        if not record.wants(name):
            continue
        plain = {"num_leaves": record.leaves(), "learning_rate": 0.3, "min_data_in_leaf": 5, "verbose": -1, "seed": seed}
        plain |= {"num_threads": 1, "deterministic": True, "force_row_wise": True}
        booster = fit_lightgbm(record.data, kind, target, plain | parameters, trees)
        model = treelite.frontend.from_lightgbm(booster)
        # Treelite and LightGBM differ in codes between -1 and 0.
        checkpoint(record, name, model, kind, gtil(model, record.data.kinds[kind][1]))


def gtil(model: treelite.Model, rows: np.ndarray) -> np.ndarray:
    try:
        answers = treelite.gtil.predict(model, rows)
    except treelite.TreeliteError:
        answers = treelite.gtil.predict(model, rows.astype(np.float64))
    return np.asarray(answers).reshape(len(rows), -1)


def checkpoint(record: Record, name: str, model: treelite.Model, kind: str, values, **more) -> None:
    content = model.serialize_bytes()
    record.add(name, "tl", content, "treelite_checkpoint", kind, values, **more)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=20260101)
    parser.add_argument("--trees", type=int, default=4)
    parser.add_argument("--vary", action="store_true")
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    record = Record(given.folder, Data(given.seed), given.only, given.vary)
    seed = given.seed % 2**31
    train_xgboost(record, given.trees, seed)
    train_lightgbm(record, given.trees, seed)
    train_treelite(record, given.trees, seed)
    record.write()
    print(f"{len(record.models)} models of seed {given.seed}")


if __name__ == "__main__":
    main()
