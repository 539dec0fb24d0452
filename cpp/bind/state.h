// What objects are pickled as: a tuple of a version and bytes. It travels between the processes of one party only, and
// what does not fit is a ValueError all the same.
#pragma once

#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "bind/bind.h"

namespace vfxgb::bind {

template <class T>
py::bytes bytes_of(const std::vector<T>& list) {
  return {reinterpret_cast<const char*>(list.data()), list.size() * sizeof(T)};
}

class State {
 public:
  // `whose`, in messages: "a RowPartition". The first item is the version.
  State(const py::tuple& state, std::string whose, std::size_t size, i64 version)
      : state_(state), whose_(std::move(whose)) {
    if (state_.size() != size)
      fail("found " + std::to_string(state_.size()) + " items, wanted " + std::to_string(size));
    if (integer(0) != version)
      fail("found version " + std::to_string(integer(0)) + ", wanted " + std::to_string(version));
  }

  i64 integer(std::size_t i) const {
    const py::object item = state_[i];
    if (!py::isinstance<py::int_>(item)) fail("item " + std::to_string(i) + " is no integer");
    const i64 value = PyLong_AsLongLong(item.ptr());
    if (value == -1 && PyErr_Occurred()) {
      PyErr_Clear();
      fail("item " + std::to_string(i) + " is out of range");
    }
    return value;
  }
  // Valid as long as the state.
  std::string_view bytes(std::size_t i) const { return bytes(py::object(state_[i])); }
  std::string_view bytes(py::handle item) const {
    if (!py::isinstance<py::bytes>(item)) fail("found something else in the place of bytes");
    return {PyBytes_AS_STRING(item.ptr()), static_cast<std::size_t>(PyBytes_GET_SIZE(item.ptr()))};
  }
  template <class T>
  std::vector<T> list(std::size_t i) const {
    return list<T>(bytes(i));
  }
  template <class T>
  std::vector<T> list(std::string_view data) const {
    if (data.size() % sizeof(T) != 0) fail("bytes do not hold whole numbers");
    std::vector<T> out(data.size() / sizeof(T));
    if (!out.empty()) std::memcpy(out.data(), data.data(), data.size());
    return out;
  }
  [[noreturn]] void fail(const std::string& why) const {
    throw std::invalid_argument("the state of " + whose_ + ": " + why);
  }

 private:
  py::tuple state_;
  std::string whose_;
};

}  // namespace vfxgb::bind
