#include "engine/version/occupied.h"

namespace tritonts {

namespace {

thread_local uint32_t t_batches = 0;
thread_local bool t_stays = false;

}  // namespace

Occupied::Occupied() {
  t_batches++;
}

Occupied::~Occupied() {
  t_batches--;
}

bool Occupied::Here() {
  return t_stays || t_batches > 0;
}

uint32_t Occupied::Batches() {
  return t_batches;
}

void Occupied::Stay() {
  t_stays = true;
}

}  // namespace tritonts
