// Slots: several integers in one plaintext.
#include "bind/arrays.h"
#include "codec/slots.h"

namespace vfxgb::bind {
namespace {

using std::int32_t;

std::size_t checked_words(py::ssize_t width) {
  if (width <= 0 || width % 8 != 0 || width > 1 << 16)
    throw std::invalid_argument("width must be 8, 16, ... bytes, found " + std::to_string(width));
  return static_cast<std::size_t>(width) / 8;
}

py::bytes encode(const Array<i64>& values, const Array<int32_t>& offsets, py::ssize_t width, py::ssize_t threads) {
  const std::size_t team = positive(threads), words = checked_words(width);
  const std::vector<int32_t> shifts = list_of(offsets, "offsets");
  const i64* data = shaped(values, {-1, offsets.size()}, "values");
  const auto rows = static_cast<std::size_t>(values.shape(0));
  Words out(rows * words);
  interruptible([&] {
    codec::encode(data, rows, shifts, words, out.data(), team);
    return true;
  });
  return to_bytes(out);
}

Array<i64> decode(const py::buffer& data, py::ssize_t width, const Array<int32_t>& bits, const Array<bool>& is_signed,
                  py::ssize_t threads) {
  const std::size_t team = positive(threads), words = checked_words(width);
  const std::vector<int32_t> sizes = list_of(bits, "bits");
  const bool* signs = shaped(is_signed, {bits.size()}, "signed");
  std::vector<codec::Slot> slots;
  for (std::size_t j = 0; j < sizes.size(); ++j) slots.push_back({sizes[j], signs[j]});
  const Bytes bytes(data, words * 8);
  const Words integers = bytes.words();
  Array<i64> out({static_cast<py::ssize_t>(bytes.count()), bits.size()});
  i64* place = out.mutable_data();
  interruptible([&] {
    codec::decode(integers.data(), bytes.count(), words, slots, place, team);
    return true;
  });
  return out;
}

Array<i64> quantise_shifted(const Array<double>& values, double shift, double limit, double alpha_max, int bits) {
  Array<i64> out(std::vector<py::ssize_t>(values.shape(), values.shape() + values.ndim()));
  const double* data = values.data();
  i64* place = out.mutable_data();
  const auto count = static_cast<std::size_t>(values.size());
  const py::gil_scoped_release release;
  codec::quantise_shifted(data, count, shift, limit, alpha_max, bits, place);
  return out;
}

}  // namespace

void register_codec(py::module_& module) {
  module.def("encode_slots", &encode, py::arg("values"), py::arg("offsets"), py::arg("width"), py::arg("threads") = 1);
  module.def("decode_slots", &decode, py::arg("data"), py::arg("width"), py::arg("bits"), py::arg("signed"),
             py::arg("threads") = 1);
  module.def("quantise_shifted", &quantise_shifted, py::arg("values"), py::arg("shift"), py::arg("limit"),
             py::arg("alpha_max"), py::arg("bits"));
}

}  // namespace vfxgb::bind
