// Errors, and what is to come: events, and the threads that make them true.
#pragma once

#include "hosts/pjrt/interface.hpp"

#include <tosavk/device.hpp>

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace tosavk::pjrt {

/// What a function throws in the place of returning an Error.
class Failure : public std::runtime_error {
public:
    Failure(Code code, const std::string& sentence) : std::runtime_error(sentence), code_(code) {}
    Code code() const { return code_; }

private:
    Code code_;
};

struct Error {
    Code code;
    std::string sentence;
};

Code code_of(tosavk_status status);
/// Of the exception that is being handled.
Error current_error() noexcept;

/// A thread that does one thing after another. What is asked of it after its end is done at once.
class Worker {
public:
    Worker() : thread_([this] { run(); }) {}
    ~Worker() { finish(); }
    void post(std::function<void()> job);
    /// Does all that was asked for and ends the thread. Not from the thread itself.
    void finish() noexcept;

private:
    void run();

    std::mutex mutex_;
    std::condition_variable wakes_;
    std::deque<std::function<void()>> jobs_;
    bool is_finished_ = false;
    std::thread thread_;  ///< the last member: it begins when the others are there
};

/// Something that will have happened. Outlives its handles: callers destroy those before it has.
class Event {
public:
    explicit Event(std::shared_ptr<Worker> callbacks) : callbacks_(std::move(callbacks)) {}
    static std::shared_ptr<Event> done(std::shared_ptr<Worker> callbacks);

    void set(std::optional<Error> error = {});
    bool is_done() const;
    /// Of what has happened; nothing where it went well.
    std::optional<Error> error() const;
    std::optional<Error> await() const;
    /// Calls back from the worker, once.
    void on_ready(std::function<void(const std::optional<Error>&)> callback);

private:
    std::shared_ptr<Worker> callbacks_;
    mutable std::mutex mutex_;
    mutable std::condition_variable happens_;
    bool is_done_ = false;
    std::optional<Error> error_;
    std::vector<std::function<void(const std::optional<Error>&)>> waiting_;
};

struct EventHandle {
    std::shared_ptr<Event> event;
};
inline EventHandle* handle_of(std::shared_ptr<Event> event) { return new EventHandle{std::move(event)}; }

}  // namespace tosavk::pjrt
