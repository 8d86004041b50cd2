// Run by CMake to choose the core for this machine.
#include "supports_v3.hpp"

int main() { return gsr::supports_v3() ? 0 : 1; }
