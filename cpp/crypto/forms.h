// Elements of a ring as bytes, and back; all of it spread over threads.
#pragma once

#include "bigint/ring.h"

namespace vfxgb {

// The wire form of an element: the base-n digits of the canonical form, each in as many bytes as n has.
// The integer form: canonical_words() words, little endian.
enum class Form { wire, integer };

std::size_t form_bytes(const Ring& ring, Form form);
// The canonical form of one item, or false if a digit is not below n.
bool parse(const Ring& ring, Form form, const unsigned char* item, u64* canonical);
void write(const Ring& ring, Form form, const u64* elements, std::size_t count, unsigned char* out,
           std::size_t threads);
// Throws std::invalid_argument if an item is out of range.
void read(const Ring& ring, Form form, const unsigned char* data, std::size_t count, u64* out, std::size_t threads);
// Index of the first of `count` items that is no unit of the ring in canonical range, or count. read_units also
// writes the elements; if there is such an item, what it has written is of no use.
std::size_t check(const Ring& ring, Form form, const unsigned char* data, std::size_t count, std::size_t threads);
std::size_t read_units(const Ring& ring, Form form, const unsigned char* data, std::size_t count, u64* out,
                       std::size_t threads);

}  // namespace vfxgb
