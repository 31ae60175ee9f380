// Writes the models of the fixtures with libtorch: make_models <folder>. Compile it with the flags
// of the shim (src/backends/pytorch/build.ts), but as a program.
#include <torch/script.h>

#include <map>
#include <string>

namespace {

struct Source {
  std::string code;
  std::map<std::string, at::Tensor> weights = {};
  std::map<std::string, at::Tensor> state = {};  // what a run may change
};

at::Tensor Numbers(at::IntArrayRef dims, double first, double step) {
  int64_t count = 1;
  for (const int64_t dim : dims) count *= dim;
  return (at::arange(count, at::kFloat) * step + first).reshape(dims);
}

const std::map<std::string, Source> kSources = {
    {"twice", {"def forward(self, x):\n  return x + x\n"}},
    {"opposite", {"def forward(self, x):\n  return torch.logical_not(x)\n"}},
    {"perceptron",
     {"def forward(self, x):\n  return torch.relu(torch.matmul(x, self.w) + self.b)\n",
      {{"w", Numbers({4, 3}, -1.25, 0.25)}, {"b", Numbers({3}, 0.5, -0.25)}}}},
    {"tuple", {"def forward(self, a, b):\n  return a + b, a - b\n"}},
    {"list", {"def forward(self, a, b):\n  return [a + b, a - b]\n"}},
    {"dict", {"def forward(self, a, b):\n  return {'sum': a + b, 'difference': a - b}\n"}},
    {"from_dict", {"def forward(self, x: Dict[str, Tensor]):\n  return x['a'] - x['b']\n"}},
    {"text",
     {"def forward(self, s: List[str], n):\n  out : List[str] = []\n  lengths : List[int] = []\n"
      "  for one in s:\n    out.append(one + '!')\n    lengths.append(len(one))\n"
      "  return out, torch.tensor(lengths) + n\n"}},
    {"only_text",
     {"def forward(self, s: List[str]):\n  out : List[str] = []\n"
      "  for one in s:\n    out.append(one.upper())\n  return out\n"}},
    // What may happen to inputs and weights.
    {"in_place", {"def forward(self, x):\n  return x.add_(1.)\n"}},
    {"in_place_view", {"def forward(self, x):\n  x.t()[0].fill_(7.)\n  return x * 1.\n"}},
    {"in_place_dict", {"def forward(self, x: Dict[str, Tensor]):\n  return x['a'].mul_(2.)\n"}},
    {"in_place_fresh", {"def forward(self, x):\n  return (x * 1.).relu_().add_(1.)\n"}},
    {"in_place_list",
     {"def forward(self, x):\n  both = [x, x]\n  both[1].add_(1.)\n  return both[0] * 1.\n"}},
    // Results that are the argument itself, which libtorch's alias analysis does not know.
    {"alias_dropout",
     {"def forward(self, x):\n  return torch.relu_(torch.dropout(x, 0.5, False))\n"}},
    {"alias_type_as", {"def forward(self, x):\n  return x.type_as(x).add_(1.)\n"}},
    {"alias_sum_to_size", {"def forward(self, x):\n  return x.sum_to_size(x.size()).add_(1.)\n"}},
    {"alias_atleast_2d", {"def forward(self, x):\n  return torch.atleast_2d(x).add_(1.)\n"}},
    {"alias_set",
     {"def forward(self, x):\n  y = torch.empty_like(x)\n  y.set_(x)\n  return y.add_(1.)\n"}},
    {"alias_weights",
     {"def forward(self, x):\n  return torch.dropout(self.w, 0.5, False).add_(1.) + x * 0.\n",
      {},
      {{"w", at::zeros({1, 2})}}}},
    {"keep",
     {"def forward(self, x):\n  old = self.last\n  self.last = x\n  return old * 1.\n",
      {},
      {{"last", at::zeros({1, 2})}}}},
    {"same", {"def forward(self, x):\n  return x\n"}},
    {"view", {"def forward(self, x):\n  return x.t()\n"}},
    {"weights", {"def forward(self, x):\n  return self.w\n", {{"w", Numbers({1, 2}, 1, 1)}}}},
    {"pair_of_one", {"def forward(self, x):\n  y = x + x\n  return y, y\n"}},
    {"count",
     {"def forward(self, x):\n  self.n.add_(1.)\n  return x * 0. + self.n\n",
      {},
      {{"n", at::zeros({1})}}}},
    // What cannot be served.
    {"fails",
     {"def check(self, x):\n  assert bool(x.sum() >= 0), 'negative: ä'\n"
      "  return x\n\ndef forward(self, x):\n  return torch.sqrt(self.check(x))\n"}},
    {"mismatch",
     {"def forward(self, x):\n  return torch.matmul(x, self.w)\n", {{"w", at::ones({5, 2})}}}},
    {"one_row", {"def forward(self, x):\n  return x[0:1] * 1.\n"}},
    {"total", {"def forward(self, x):\n  return x.sum()\n"}},
    {"number", {"def forward(self, x):\n  return 1\n"}},
    {"numbers", {"def forward(self, x):\n  return x, [1, 2]\n"}},
    {"optional", {"def forward(self, x: Optional[Tensor]):\n  return 1\n"}},
    {"tensors", {"def forward(self, x: List[Tensor]):\n  return x[0]\n"}},
    {"two_dicts",
     {"def forward(self, x: Dict[str, Tensor], y: Dict[str, Tensor]):\n  return x['a'] + "
      "y['a']\n"}},
    {"without_forward", {"def infer(self, x):\n  return x\n"}},
    {"sparse", {"def forward(self, x):\n  return x.to_sparse()\n"}},
    // Shapes and times that depend on the data.
    {"nonzero", {"def forward(self, x):\n  return torch.nonzero(x)\n"}},
    {"chosen", {"def forward(self, x, mask):\n  return torch.masked_select(x, mask)\n"}},
    {"until",
     {"def forward(self, x):\n  n = int(x[0, 0].item())\n  y = x\n  for i in range(n):\n"
      "    y = y + 1.\n  return y\n"}},
    {"says", {"def forward(self, x):\n  print('it says', 1)\n  return x * 1.\n"}},
};

}  // namespace

int main(int, char** arguments) {
  const std::string folder = arguments[1];
  for (const auto& [name, source] : kSources) {
    torch::jit::Module module("Model");
    for (const auto& [key, value] : source.weights) module.register_parameter(key, value, false);
    for (const auto& [key, value] : source.state) module.register_buffer(key, value);
    module.define(source.code);
    module.save(folder + "/" + name + ".pt");
  }
}
