#include "io/rbd/rbd_holder.h"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <functional>
#include <memory>
#include <utility>

#include "io/rbd/rbd_address.h"
#include "io/rbd/rbd_error.h"
#include "io/rbd/rbd_lockers.h"
#include "io/rbd/rbd_patience.h"
#include "io/rbd/rbd_settings.h"

namespace hexad::io {

namespace {

// An image that is open, and not locked.
class OpenImage {
 public:
  static Result<std::unique_ptr<OpenImage>> open(const std::string& path, const RbdAddress& address,
                                                 const std::shared_ptr<RbdCluster>& cluster) {
    Result<std::unique_ptr<RbdPool>> pool = RbdPool::open(cluster, address.pool);
    if (!pool.ok()) return pool.error().with_context(path);
    std::unique_ptr<OpenImage> image(new OpenImage(path, address, std::move(pool).value()));
    const int rc = image->library().rbd_open(image->pool_->handle(), address.image.c_str(),
                                             &image->handle_, nullptr);
    if (rc == 0) return image;
    image->handle_ = nullptr;
    return rbd_error(-rc, "cannot open " + path);
  }
  ~OpenImage() {
    if (handle_ != nullptr) static_cast<void>(library().rbd_close(handle_));
  }
  OpenImage(const OpenImage&) = delete;
  OpenImage& operator=(const OpenImage&) = delete;

  Result<RbdLockers> lockers() const {
    const std::uint64_t self = library().rados_get_instance_id(pool_->cluster()->handle());
    return find_lockers(library(), handle_, self, path_);
  }
  // Else it would be freed without its holder being shut out.
  Status check_settings() const { return check_rbd_settings(library(), handle_, address_, path_); }
  Status break_lock(const std::string& owner) const {
    const int rc = library().rbd_lock_break(handle_, kRbdLockExclusive, owner.c_str());
    // It has given it back meanwhile, or somebody else was faster.
    if (rc == 0 || rc == -ENOENT) return {};
    return rbd_error(-rc, path_ + ": cannot take the lock from the client at " + owner);
  }

 private:
  OpenImage(std::string path, RbdAddress address, std::unique_ptr<RbdPool> pool)
      : path_(std::move(path)), address_(std::move(address)), pool_(std::move(pool)) {}
  const RbdLibrary& library() const { return pool_->cluster()->library(); }

  const std::string path_;
  const RbdAddress address_;
  const std::unique_ptr<RbdPool> pool_;
  RbdLibrary::Handle handle_ = nullptr;
};

// Opens the image, asks it, and closes it, on a thread that this one may leave.
template <typename Outcome>
Outcome ask_image(const std::string& path, RbdClusters& clusters, const std::string& what,
                  std::chrono::seconds patience,
                  const std::function<Outcome(const OpenImage& image)>& question) {
  HEXAD_TRY_ASSIGN(const RbdAddress address, RbdAddress::parse(path));
  const Result<std::shared_ptr<RbdCluster>> cluster = clusters.of(address);
  if (!cluster.ok()) return cluster.error().with_context(path);
  return ask_rbd<Outcome>(*cluster, what, patience, [=, cluster = *cluster]() -> Outcome {
    HEXAD_TRY_ASSIGN(const auto image, OpenImage::open(path, address, cluster));
    return question(*image);
  });
}

}  // namespace

Result<std::optional<Holder>> find_rbd_holder(const std::string& path, RbdClusters& clusters) {
  HEXAD_TRY_ASSIGN(const RbdAddress address, RbdAddress::parse(path));
  if (!address.snapshot.empty()) return std::optional<Holder>();  // nobody writes one
  using Found = Result<std::optional<Holder>>;
  return ask_image<Found>(
      path, clusters, "cannot tell who has " + path, kRbdPatience,
      [](const OpenImage& image) -> Found {
        HEXAD_TRY_ASSIGN(const RbdLockers lockers, image.lockers());
        if (lockers.owners.empty()) return std::optional<Holder>();
        return std::optional<Holder>(Holder{"the client at " + lockers.to_string(), lockers.own});
      });
}

Status shut_out_of_rbd(const std::string& path, RbdClusters& clusters) {
  HEXAD_TRY_ASSIGN(const RbdAddress address, RbdAddress::parse(path));
  if (!address.snapshot.empty()) {
    return Error{ErrorCode::kReadOnly, path + ": nobody writes a snapshot",
                 "Name the image without @."};
  }
  // Whoever has the image when nobody waits for this any more may be somebody else.
  const auto left = std::make_shared<std::atomic<bool>>(false);
  Status done = ask_image<Status>(path, clusters, "cannot shut out who has " + path,
                                  kRbdLongPatience, [left](const OpenImage& image) -> Status {
                                    HEXAD_TRY_ASSIGN(const RbdLockers lockers, image.lockers());
                                    if (!lockers.owners.empty()) HEXAD_TRY(image.check_settings());
                                    for (const std::string& owner : lockers.owners) {
                                      if (!*left) HEXAD_TRY(image.break_lock(owner));
                                    }
                                    return {};
                                  });
  *left = true;
  return done;
}

}  // namespace hexad::io
