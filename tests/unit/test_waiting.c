/* SPDX-License-Identifier: Apache-2.0 */
/* Names of zones that wait, and names that only look like it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyze/zones/waiting.h"

static void test_names_that_wait(void **state)
{
    static const char *const names[] = {"sleep",
                                        "time.sleep",
                                        "Condition.wait",
                                        "threading.Event.wait",
                                        "Queue.get",
                                        "_queue.SimpleQueue.get",
                                        "EpollSelector.select",
                                        "select.epoll.poll",
                                        "lock.acquire",
                                        "Thread.join",
                                        "Thread._wait_for_tstate_lock",
                                        "std::thread::join",
                                        "std::this_thread::sleep_for",
                                        "pthread_cond_wait",
                                        "socket.recv_into",
                                        "chip_wait",
                                        "uv_cond_wait",
                                        "stream_synchronize",
                                        "wait for data",
                                        "waiting: lock",
                                        "lock",
                                        "cuCtxSynchronize",
                                        "cudaStreamSynchronize",
                                        "torch.cuda.synchronize",
                                        "Popen._wait",
                                        "Popen._try_wait",
                                        "Connection._recv",
                                        "SocketIO.readinto",
                                        "SSLSocket.read",
                                        "SSLSocket.recv",
                                        "Hub.run",
                                        "join"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (!waiting_is_name(names[i]))
            fail_msg("%s waits", names[i]);
    }
}

static void test_names_that_work(void **state)
{
    static const char *const names[] = {"",
                                        "dict.get",
                                        "str.join",
                                        "os.path.join",
                                        "matmul",
                                        "Model.put",
                                        "wait_list",
                                        "try_wait",
                                        "send_no_wait",
                                        "prepare_to_wait",
                                        "await",
                                        "waiter",
                                        "unlock",
                                        "clock",
                                        "selector",
                                        "sleepy.work",
                                        "Queue.empty",
                                        "Pool.map",
                                        ".",
                                        "::",
                                        "waitable.run",
                                        "BytesIO.readinto",
                                        "Popen._execute_child",
                                        "Dataset.read",
                                        "Connection._send",
                                        "Hub.start",
                                        "Runner.run"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (waiting_is_name(names[i]))
            fail_msg("%s works", names[i]);
    }
}

static void test_all_of_the_time(void **state)
{
    (void)state;
    assert_true(waiting_is_all(100, 100));
    assert_true(waiting_is_all(99, 100));
    assert_false(waiting_is_all(98, 100));
    assert_false(waiting_is_all(0, 0));
    assert_false(waiting_is_all(0, 5));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_that_wait),
        cmocka_unit_test(test_names_that_work),
        cmocka_unit_test(test_all_of_the_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
