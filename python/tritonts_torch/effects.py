"""What the graph of a module shows: whether a run may change an input or the module, so that it must not run again."""

import torch

#: Operators whose results are new memory, whatever their arguments are (as in the shim, tritonts_torch.cc).
_NEW = frozenset(
    (
        "_convolution add addmm avg_pool2d batch_norm bmm cat clone conv1d conv2d conv3d div empty empty_like full"
        " group_norm layer_norm linear matmul max_pool2d mm mul ones ones_like relu sigmoid softmax stack sub tanh"
        " zeros zeros_like"
    ).split()
)
_CALLS = frozenset(("SetAttr", "CallFunction", "CallMethod", "fork", "rpc_async", "PythonOp"))


def has_effects(module):
    """Whether a run may do more than return results. Whatever is not known to be harmless counts as an effect."""
    try:
        graph = module.forward.graph.copy()
        torch._C._jit_pass_inline(graph)
        return _acts(graph)
    except Exception:
        # A module without a graph, such as one that a backend of libtorch compiled.
        return True


def _acts(block):
    for node in block.nodes():
        space, _, kind = node.kind().partition("::")
        if space not in ("aten", "prim", "quantized") or kind in _CALLS or _writes(node):
            return True
        if any(_acts(inner) for inner in node.blocks()):
            return True
    return False


def _makes_new(node):
    """Whether a node's result is new memory."""
    space, _, kind = node.kind().partition("::")
    if space == "prim":
        return kind in ("ListConstruct", "DictConstruct")
    if space != "aten":
        return False
    # An operator in place returns its first argument. `__getitem__` is none: what it takes out of a new list is not new.
    in_place = len(kind) > 1 and kind.endswith("_") and not kind.endswith("__")
    return kind in _NEW or (in_place and _first_is_new(node))


def _first_is_new(node):
    inputs = list(node.inputs())
    return bool(inputs) and _makes_new(inputs[0].node())


def _writes(node):
    """Whether a node writes to what may be an input's memory or the module's."""
    text = node.schema()
    # Operators that the interpreter knows by itself have none.
    if text == "(no schema)" or not text:
        return False
    schema = torch._C.parse_schema(text)
    if not schema.is_mutable:
        return False
    # It gives a tensor the memory of another one.
    if node.kind() == "aten::set_":
        return True
    inputs = list(node.inputs())
    for at, argument in enumerate(schema.arguments):
        alias = argument.alias_info
        if alias is not None and alias.is_write and (at >= len(inputs) or not _makes_new(inputs[at].node())):
            return True
    return False
