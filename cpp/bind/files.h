// Objects that keep their data in a file: what the system says about it becomes an OSError that names it.
#pragma once

#include <cerrno>
#include <optional>
#include <string>
#include <system_error>

#include "bind/bind.h"

namespace vfxgb::bind {

using OptionalPath = std::optional<std::string>;

template <class Make>
auto naming_file(const OptionalPath& path, Make make) {
  try {
    return make();
  } catch (const std::system_error& error) {
    if (!path) throw;
    errno = error.code().value();
    PyErr_SetFromErrnoWithFilename(PyExc_OSError, path->c_str());
    throw py::error_already_set();
  }
}

// The same; runs make() without the GIL.
template <class Make>
auto with_file(const OptionalPath& path, Make make) {
  return naming_file(path, [&] {
    const py::gil_scoped_release release;
    return make();
  });
}

}  // namespace vfxgb::bind
