// A library with one function.

extern "C" __attribute__((visibility("default"))) int fake_number() {
  return 42;
}
