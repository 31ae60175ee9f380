"""The configuration as `auto_complete_config` sees it."""

import copy

from .datatypes import number_of_config


class ModelConfig:
    """Triton: `pb_utils.ModelConfig`."""

    def __init__(self, config):
        self._config = config

    def as_dict(self):
        return copy.deepcopy(self._config)

    def set_max_batch_size(self, max_batch_size):
        """Sets max_batch_size. Raises if a larger one is configured."""
        known = self._config.get("max_batch_size", 0)
        if known > max_batch_size:
            raise ValueError(
                "configuration specified max_batch_size %d, but in auto-complete-config function for model '%s' "
                "max_batch_size %d was specified" % (known, self._config.get("name"), max_batch_size)
            )
        self._config["max_batch_size"] = max_batch_size

    def set_dynamic_batching(self):
        """Enables dynamic batching. Raises if another scheduler is configured."""
        for other in ("sequence_batching", "ensemble_scheduling"):
            if self._config.get(other):
                raise ValueError(
                    "set_dynamic_batching(): the configuration has %s, which excludes dynamic_batching" % other
                )
        if not self._config.get("dynamic_batching"):
            self._config["dynamic_batching"] = {}

    def set_model_transaction_policy(self, transaction_policy):
        unknown = set(transaction_policy) - {"decoupled"}
        if unknown:
            raise ValueError(
                "set_model_transaction_policy(): unknown property %s; expected decoupled" % ", ".join(sorted(unknown))
            )
        if "decoupled" not in transaction_policy:
            return
        decoupled = bool(transaction_policy["decoupled"])
        policy = self._config.setdefault("model_transaction_policy", {})
        if policy.get("decoupled", decoupled) != decoupled:
            raise ValueError(
                "model_transaction_policy: decoupled is configured as %s, but auto_complete_config says %s"
                % (policy["decoupled"], decoupled)
            )
        policy["decoupled"] = decoupled

    def add_input(self, input):
        self._add("input", input, {"name", "data_type", "dims", "optional"})

    def add_output(self, output):
        self._add("output", output, {"name", "data_type", "dims"})

    def _add(self, section, tensor, allowed):
        for key in tensor:
            if key not in allowed:
                raise ValueError("%s: unknown property '%s'; expected %s" % (section, key, ", ".join(sorted(allowed))))
        if "name" not in tensor:
            raise ValueError(
                "%s: expected a property 'name' but got %s" % (section, ", ".join(sorted(tensor)) or "none")
            )
        for key in ("data_type", "dims"):
            if key not in tensor:
                raise ValueError("%s '%s': expected a property '%s'" % (section, tensor["name"], key))
        if number_of_config(tensor["data_type"]) is None or not str(tensor["data_type"]).startswith("TYPE_"):
            raise ValueError("%s '%s': unknown data_type '%s'" % (section, tensor["name"], tensor["data_type"]))
        given = dict(tensor, dims=[int(dim) for dim in tensor["dims"]])
        for known in self._config.setdefault(section, []):
            if known["name"] != tensor["name"]:
                continue
            for key, value in given.items():
                if key in known and known[key] not in (value, "TYPE_INVALID", []):
                    raise ValueError(
                        "%s '%s': %s is configured as %s, but auto_complete_config says %s"
                        % (section, tensor["name"], key, known[key], value)
                    )
                known[key] = value
            return
        self._config[section].append(given)
