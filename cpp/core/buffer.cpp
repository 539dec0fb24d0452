#include "core/buffer.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "core/types.h"

namespace vfxgb {
namespace {

[[noreturn]] void fail(int error, const std::string& path) {
  throw std::system_error(error, std::generic_category(), path);
}

// Room for `bytes` bytes now: a mapped page that the disk has no room for would end the process when it is written.
// Returns the error, or 0.
int make_room(int file, std::size_t bytes) {
  const auto size = static_cast<off_t>(bytes);
#if defined(__APPLE__)
  fstore_t wanted{};
  wanted.fst_flags = F_ALLOCATEALL;
  wanted.fst_posmode = F_PEOFPOSMODE;
  wanted.fst_length = size;
  if (fcntl(file, F_PREALLOCATE, &wanted) == -1) return errno;
  return ftruncate(file, size) == 0 ? 0 : errno;
#else
  int error;
  do {
    error = posix_fallocate(file, 0, size);
  } while (error == EINTR);
  return error;
#endif
}

// A new file that exists under its name only as long as this lives.
class NewFile {
 public:
  explicit NewFile(const std::string& path) : path_(path) {
    file_ = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (file_ < 0) fail(errno, path);
  }
  ~NewFile() {
    unlink(path_.c_str());
    close(file_);
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void* map(std::size_t bytes) const {
    if (const int error = make_room(file_, bytes)) fail(error, path_);
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
    if (memory == MAP_FAILED) fail(errno, path_);
    return memory;
  }

 private:
  const std::string& path_;
  int file_;
};

// No file and no mapping is empty.
std::size_t mapped_bytes(std::size_t size) { return std::max<std::size_t>(size, 1); }

}  // namespace

Buffer::Buffer(std::size_t bytes, const std::optional<std::string>& path) : size_(bytes), mapped_(path.has_value()) {
  if (mapped_)
    memory_ = NewFile(*path).map(mapped_bytes(bytes));
  else if (bytes > 0)
    memory_ = allocate(bytes);
}

Buffer::~Buffer() {
  if (!memory_) return;
  if (mapped_)
    munmap(memory_, mapped_bytes(size_));
  else
    deallocate(memory_, size_);
}

void Buffer::drop() const noexcept {
  // Of a shared mapping this takes the pages out of the process and leaves them to the file. Failure costs memory only.
  if (mapped_) madvise(memory_, mapped_bytes(size_), MADV_DONTNEED);
}

void Buffer::swap(Buffer& other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(size_, other.size_);
  std::swap(mapped_, other.mapped_);
}

}  // namespace vfxgb
