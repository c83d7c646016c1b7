// SPDX-License-Identifier: Apache-2.0
// Tracy's lock wrappers, recorded by opscope: who waits for a lock and who holds it. Included by tracy/Tracy.hpp.
#ifndef OPSCOPE_COMPAT_TRACY_LOCK_HPP
#define OPSCOPE_COMPAT_TRACY_LOCK_HPP

#include "TracyScoped.hpp"

namespace tracy
{

/// For locks of your own: report what they do. BeforeLock and the others return true when Tracy needs the call for the
/// end as well; here it is always allowed.
class LockableCtx
{
  public:
    LockableCtx(const char *name, const char *file, uint32_t line)
    {
        opscope_tracy_lock_init_(&lock_, name, file, line);
    }
    explicit LockableCtx(const SourceLocationData *place)
        : LockableCtx(place->name ? place->name : place->function, place->file, place->line)
    {
    }
    LockableCtx(const LockableCtx &) = delete;
    LockableCtx &operator=(const LockableCtx &) = delete;
    ~LockableCtx()
    {
        opscope_tracy_lock_destroy_(&lock_);
    }

    bool BeforeLock()
    {
        opscope_tracy_lock_wait_(&lock_, 0);
        return true;
    }
    void AfterLock()
    {
        opscope_tracy_lock_waited_(&lock_, 1, 0);
    }
    void AfterUnlock()
    {
        opscope_tracy_lock_released_(&lock_, 0);
    }
    void AfterTryLock(bool acquired)
    {
        opscope_tracy_lock_waited_(&lock_, acquired, 0);
    }
    /// Where a lock is held is not recorded.
    void Mark(const SourceLocationData *)
    {
    }
    void CustomName(const char *name, std::size_t size)
    {
        opscope_tracy_lock_name_(&lock_, name, size);
    }

  protected:
    opscope_tracy_lock lock_;
};

class SharedLockableCtx : public LockableCtx
{
  public:
    using LockableCtx::LockableCtx;

    bool BeforeLockShared()
    {
        opscope_tracy_lock_wait_(&lock_, 1);
        return true;
    }
    void AfterLockShared()
    {
        opscope_tracy_lock_waited_(&lock_, 1, 1);
    }
    void AfterUnlockShared()
    {
        opscope_tracy_lock_released_(&lock_, 1);
    }
    void AfterTryLockShared(bool acquired)
    {
        opscope_tracy_lock_waited_(&lock_, acquired, 1);
    }
};

/// A lock T that reports itself, in place of T.
template <class T, class Context = LockableCtx> class Lockable
{
  public:
    Lockable(const char *name, const char *file, uint32_t line) : context_(name, file, line)
    {
    }
    explicit Lockable(const SourceLocationData *place) : context_(place)
    {
    }
    Lockable(const Lockable &) = delete;
    Lockable &operator=(const Lockable &) = delete;

    void lock()
    {
        context_.BeforeLock();
        lock_.lock();
        context_.AfterLock();
    }
    void unlock()
    {
        lock_.unlock();
        context_.AfterUnlock();
    }
    bool try_lock()
    {
        const bool acquired = lock_.try_lock();
        context_.AfterTryLock(acquired);
        return acquired;
    }
    void Mark(const SourceLocationData *place)
    {
        context_.Mark(place);
    }
    void CustomName(const char *name, std::size_t size)
    {
        context_.CustomName(name, size);
    }

  protected:
    T lock_;
    Context context_;
};

template <class T> class SharedLockable : public Lockable<T, SharedLockableCtx>
{
  public:
    using Lockable<T, SharedLockableCtx>::Lockable;

    void lock_shared()
    {
        this->context_.BeforeLockShared();
        this->lock_.lock_shared();
        this->context_.AfterLockShared();
    }
    void unlock_shared()
    {
        this->lock_.unlock_shared();
        this->context_.AfterUnlockShared();
    }
    bool try_lock_shared()
    {
        const bool acquired = this->lock_.try_lock_shared();
        this->context_.AfterTryLockShared(acquired);
        return acquired;
    }
};

} // namespace tracy

#endif
