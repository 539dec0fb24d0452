// numpy arrays as arguments: kinds, shapes, copies.
#pragma once

#include <pybind11/numpy.h>

#include <algorithm>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <vector>

#include "bind/bind.h"

namespace vfxgb::bind {

// Safe casts only: an array of another kind is a TypeError.
template <class T>
using Array = py::array_t<T, py::array::c_style>;

inline std::size_t not_negative(py::ssize_t value, const char* name) {
  if (value < 0) throw std::invalid_argument(std::string(name) + " must not be negative");
  return static_cast<std::size_t>(value);
}

// Extents of -1 take any length.
template <class T>
const T* shaped(const Array<T>& array, std::initializer_list<py::ssize_t> shape, const char* name) {
  bool good = array.ndim() == static_cast<py::ssize_t>(shape.size());
  std::string wanted;
  py::ssize_t axis = 0;
  for (const py::ssize_t extent : shape) {
    good = good && (extent < 0 || array.shape(axis) == extent);
    wanted += (axis++ ? ", " : "") + (extent < 0 ? "any" : std::to_string(extent));
  }
  if (!good) throw std::invalid_argument(std::string(name) + " must have shape [" + wanted + "]");
  return array.data();
}

// A copy, of `size` elements if that is not negative.
template <class T>
std::vector<T> list_of(const Array<T>& array, const char* name, py::ssize_t size = -1) {
  const T* data = shaped(array, {size}, name);
  return std::vector<T>(data, data + array.size());
}

template <class T>
Array<T> array_of(const T* data, std::size_t size) {
  Array<T> out(static_cast<py::ssize_t>(size));
  std::copy_n(data, size, out.mutable_data());
  return out;
}

// Calls use with a float or double example of the array's type.
template <class Use>
auto with_floats(const py::array& values, Use use) {
  if (py::isinstance<py::array_t<double>>(values)) return use(double{});
  if (py::isinstance<py::array_t<float>>(values)) return use(float{});
  throw py::type_error("wanted an array of float32 or float64");
}

}  // namespace vfxgb::bind
