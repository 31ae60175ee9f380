// A library that is nothing but one.

extern "C" __attribute__((visibility("default"))) int fake_number() {
  return 42;
}
