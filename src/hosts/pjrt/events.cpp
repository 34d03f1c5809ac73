#include "hosts/pjrt/events.hpp"

#include <exception>
#include <new>

namespace tosavk::pjrt {

Code code_of(tosavk_status status) {
    switch (status) {
        case TOSAVK_OK: return Code::ok;
        case TOSAVK_ERROR_USAGE:
        case TOSAVK_ERROR_BAD_MODEL:
        case TOSAVK_ERROR_BAD_INPUT: return Code::invalid_argument;
        case TOSAVK_ERROR_UNSUPPORTED: return Code::unimplemented;
        case TOSAVK_ERROR_NO_DEVICE: return Code::not_found;
        case TOSAVK_ERROR_DEVICE_LOST: return Code::unavailable;
        case TOSAVK_ERROR_OUT_OF_MEMORY: return Code::resource_exhausted;
        case TOSAVK_ERROR_CANCELLED: return Code::cancelled;
        default: return Code::internal;
    }
}

Error current_error() noexcept {
    try {
        try {
            throw;
        } catch (const Failure& e) {
            return {e.code(), e.what()};
        } catch (const cpp::Error& e) {
            return {code_of(e.status()), e.what()};
        } catch (const std::bad_alloc&) {
            return {Code::resource_exhausted, "out of memory"};
        } catch (const std::exception& e) {
            return {Code::internal, e.what()};
        }
    } catch (...) {
        return {Code::internal, {}};
    }
}

// ---- workers --------------------------------------------------------------------------------------------------------

void Worker::post(std::function<void()> job) {
    {
        const std::lock_guard lock(mutex_);
        if (!is_finished_) {
            jobs_.push_back(std::move(job));
            wakes_.notify_one();
            return;
        }
    }
    job();
}

void Worker::run() {
    std::unique_lock lock(mutex_);
    while (true) {
        wakes_.wait(lock, [&] { return is_finished_ || !jobs_.empty(); });
        if (jobs_.empty()) return;
        std::function<void()> job = std::move(jobs_.front());
        jobs_.pop_front();
        lock.unlock();
        job();
        job = nullptr;
        lock.lock();
    }
}

void Worker::finish() noexcept {
    {
        const std::lock_guard lock(mutex_);
        is_finished_ = true;
        wakes_.notify_one();
    }
    if (!thread_.joinable()) return;
    if (thread_.get_id() == std::this_thread::get_id()) thread_.detach();
    else thread_.join();
}

// ---- events ---------------------------------------------------------------------------------------------------------

std::shared_ptr<Event> Event::done(std::shared_ptr<Worker> callbacks) {
    auto event = std::make_shared<Event>(std::move(callbacks));
    event->is_done_ = true;
    return event;
}

void Event::set(std::optional<Error> error) {
    std::vector<std::function<void(const std::optional<Error>&)>> waiting;
    {
        const std::lock_guard lock(mutex_);
        is_done_ = true;
        error_ = error;
        waiting.swap(waiting_);
        happens_.notify_all();
    }
    for (auto& callback : waiting) callbacks_->post([callback = std::move(callback), error] { callback(error); });
}

bool Event::is_done() const {
    const std::lock_guard lock(mutex_);
    return is_done_;
}

std::optional<Error> Event::error() const {
    const std::lock_guard lock(mutex_);
    return error_;
}

std::optional<Error> Event::await() const {
    std::unique_lock lock(mutex_);
    happens_.wait(lock, [&] { return is_done_; });
    return error_;
}

void Event::on_ready(std::function<void(const std::optional<Error>&)> callback) {
    std::optional<Error> error;
    {
        const std::lock_guard lock(mutex_);
        if (!is_done_) {
            waiting_.push_back(std::move(callback));
            return;
        }
        error = error_;
    }
    callbacks_->post([callback = std::move(callback), error] { callback(error); });
}

}  // namespace tosavk::pjrt
