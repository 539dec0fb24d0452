// Blocks of 16 bytes as Python's bytes and arrays, for what binds cpp/ot.
#pragma once

#include <cstring>

#include "bind/arrays.h"
#include "ot/hash.h"

namespace vfxgb::bind {

using ot::Block;
using Byte = std::uint8_t;
inline constexpr py::ssize_t block_bytes = 16;

inline Block block_of(const py::bytes& bytes, const char* name) {
  const std::string_view view = bytes;
  if (view.size() != sizeof(Block)) throw std::invalid_argument(std::string(name) + " takes 16 bytes");
  Block out;
  std::memcpy(&out, view.data(), sizeof out);
  return out;
}

inline ot::Hash hash_of(const py::bytes& session, u32 domain, u64 block) {
  const std::string_view view = session;
  if (view.size() != ot::session_bytes) throw std::invalid_argument("session takes 32 bytes");
  return {reinterpret_cast<const unsigned char*>(view.data()), domain, block};
}

inline ot::AesKey key_of(const py::bytes& key) {
  const Block bytes = block_of(key, "key");
  return ot::AesKey(reinterpret_cast<const unsigned char*>(&bytes));
}

// Blocks of a buffer of Python's, held while they are read: in place where it stands at a multiple of 16, as numpy's
// own memory and bytes do, else a copy that is wiped in the end.
class BlockView {
 public:
  BlockView(const py::buffer& buffer, std::size_t count, const char* name) : bytes_(buffer, 1) {
    if (bytes_.size() != count * sizeof(Block))
      throw std::invalid_argument(std::string(name) + " holds " + std::to_string(bytes_.size()) + " bytes; wanted " +
                                  std::to_string(count * sizeof(Block)));
    if (count == 0 || reinterpret_cast<std::uintptr_t>(bytes_.data()) % alignof(Block) == 0) return;
    copy_.resize(count);
    std::memcpy(copy_.data(), bytes_.data(), bytes_.size());
  }
  const Block* data() const {
    return copy_.empty() ? reinterpret_cast<const Block*>(bytes_.data()) : copy_.data();
  }
  std::size_t size() const { return bytes_.size() / sizeof(Block); }

 private:
  Bytes bytes_;
  ot::Blocks copy_;
};

// Memory for blocks, in an array or bytes of Python's, that is filled before anybody else sees it. Where it does not
// stand at a multiple of 16 it is filled in a copy.
template <class Memory>
class NewBlocks {
 public:
  NewBlocks(Memory memory, unsigned char* data, std::size_t count) : memory_(std::move(memory)), bytes_(data) {
    if (reinterpret_cast<std::uintptr_t>(data) % alignof(Block) != 0) copy_.resize(count);
  }
  Block* data() { return copy_.empty() ? reinterpret_cast<Block*>(bytes_) : copy_.data(); }
  Memory take() {
    if (!copy_.empty()) std::memcpy(bytes_, copy_.data(), copy_.size() * sizeof(Block));
    return std::move(memory_);
  }

 private:
  Memory memory_;
  unsigned char* bytes_;
  ot::Blocks copy_;
};

inline NewBlocks<Array<Byte>> new_rows(std::size_t count) {
  Array<Byte> array({static_cast<py::ssize_t>(count), block_bytes});
  Byte* const data = array.mutable_data();
  return {std::move(array), data, count};
}

inline NewBlocks<py::bytes> new_block_bytes(std::size_t count) {
  NewBytes bytes(count * sizeof(Block));
  unsigned char* const data = bytes.data();
  return {bytes.take(), data, count};
}

// A copy at a multiple of 16, wiped in the end.
inline ot::Blocks blocks_of(const py::buffer& buffer, std::size_t count, const char* name) {
  const Bytes bytes(buffer, 1);
  if (bytes.size() != count * sizeof(Block))
    throw std::invalid_argument(std::string(name) + " holds " + std::to_string(bytes.size()) + " bytes; wanted " +
                                std::to_string(count * sizeof(Block)));
  ot::Blocks out(count);
  if (count > 0) std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

inline ot::Blocks blocks_of_array(const Array<Byte>& array, std::initializer_list<py::ssize_t> shape,
                                  const char* name) {
  const Byte* data = shaped(array, shape, name);
  ot::Blocks out(static_cast<std::size_t>(array.size()) / sizeof(Block));
  std::memcpy(out.data(), data, static_cast<std::size_t>(array.size()));
  return out;
}

inline std::size_t block_count(const py::buffer& buffer) { return Bytes(buffer, sizeof(Block)).count(); }

inline Array<Byte> array_of_blocks(const ot::Blocks& blocks, std::vector<py::ssize_t> shape) {
  shape.push_back(block_bytes);
  Array<Byte> out(shape);
  if (!blocks.empty()) std::memcpy(out.mutable_data(), blocks.data(), blocks.size() * sizeof(Block));
  return out;
}

inline py::bytes bytes_of_blocks(const ot::Blocks& blocks) {
  return {reinterpret_cast<const char*>(blocks.data()), blocks.size() * sizeof(Block)};
}

inline py::ssize_t extent(std::size_t count) { return static_cast<py::ssize_t>(count); }

}  // namespace vfxgb::bind
