#include "noise/inversion.h"

namespace vfxgb::noise {
namespace {

// Numbers in [0, 2^64): the integer part, then binary digits, 64 each. The unit is one of the last word.

void multiply(Words& number, u64 factor) {
  u64 carry = 0;
  for (std::size_t i = number.size(); i-- > 0;) {
    const u128 product = static_cast<u128>(number[i]) * factor + carry;
    number[i] = static_cast<u64>(product);
    carry = static_cast<u64>(product >> 64);
  }
}

// Rounded down. Returns whether anything is left.
bool divide(Words& number, u64 divisor) {
  u64 remainder = 0, any = 0;
  for (u64& word : number) {
    const u128 dividend = static_cast<u128>(remainder) << 64 | word;
    word = static_cast<u64>(dividend / divisor);
    remainder = static_cast<u64>(dividend % divisor);
    any |= word;
  }
  return any != 0;
}

void add(Words& number, const Words& other) {
  u64 carry = 0;
  for (std::size_t i = number.size(); i-- > 0;) {
    const u128 sum = static_cast<u128>(number[i]) + other[i] + carry;
    number[i] = static_cast<u64>(sum);
    carry = static_cast<u64>(sum >> 64);
  }
}

void subtract(Words& number, const Words& other) {
  u64 borrow = 0;
  for (std::size_t i = number.size(); i-- > 0;) {
    const u128 difference = static_cast<u128>(number[i]) - other[i] - borrow;
    number[i] = static_cast<u64>(difference);
    borrow = static_cast<u64>(difference >> 64) & 1;
  }
}

// number *= exp(-part / whole), part <= whole < 2^63, number <= 1, by the alternating series. A term is too small by at
// most 3 units, and fewer than 64 per word are not zero: the error is below 200 units per word.
void times_exp_of_minus(Words& number, u64 part, u64 whole) {
  Words term = number;
  for (u64 i = 1;; ++i) {
    multiply(term, part);
    divide(term, whole);
    if (!divide(term, i)) return;
    i % 2 ? subtract(number, term) : add(number, term);
  }
}

}  // namespace

int below_exp_of_minus(const Words& digits, u128 part, u64 whole) {
  if (part == 0) return 1;
  const std::size_t size = digits.size() + 2;  // the integer part before, and a word more than is known of the number
  Words bound(size, 0), first(size, 0), last(size, 0), error(size, 0);
  const u128 wholes = part / whole;
  if (wholes < 64 * size) {  // else below a unit
    bound[0] = 1;
    for (u128 i = 0; i < wholes; ++i) times_exp_of_minus(bound, 1, 1);
    times_exp_of_minus(bound, static_cast<u64>(part % whole), whole);
  }
  error[size - 1] = u64{1} << 32;  // more than 64 * 200 * size^2, for any size that is ever reached
  std::copy(digits.begin(), digits.end(), first.begin() + 1);
  last = first;  // the number lies in [first, last)
  Words digit(size, 0);
  digit[size - 2] = 1;
  add(last, digit);
  add(last, error);
  if (last <= bound) return 1;
  add(bound, error);
  return first >= bound ? -1 : 0;
}

}  // namespace vfxgb::noise
