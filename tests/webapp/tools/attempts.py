"""Programs that try to leave the isolation. Each prints ESCAPED where it succeeds.

A template has the names of what the host offers: `secret` (a file), `outside` (a folder), `port` (of a listener),
`socket` (the path of a listener), `abstract` (the name of one), `variable` (of the environment).
"""

from __future__ import annotations

READS = {
    "a file of the host": "print('ESCAPED', open({secret!r}).read())",
    "the users": "print('ESCAPED', open('/etc/passwd').read())",
    "a file through a symbolic link": """
import os
os.symlink({secret!r}, 'link')
print('ESCAPED', open('link').read())""",
    "a file through a hard link": """
import os
os.link({secret!r}, 'link')
print('ESCAPED', open('link').read())""",
    "a file through its parent folders": "print('ESCAPED', open('/tmp/../../../../..' + {secret!r}).read())",
    "a file through the root of a process": "print('ESCAPED', open('/proc/self/root' + {secret!r}).read())",
    "the folder of a file": "import os; print('ESCAPED', os.stat({outside!r}))",
    "the environment": "import os; print('ESCAPED', os.environ[{variable!r}])",
    "the environment of a process": "print('ESCAPED', open('/proc/1/environ').read())",
    "the other processes": "import os; print('ESCAPED', os.listdir('/proc'))",
    "the devices of the kernel": "import os; print('ESCAPED', os.listdir('/sys'))",
    "the devices": "import os; print('ESCAPED', os.listdir('/dev'))",
    "the installed packages": "import sys; sys.path += {packages!r}; import msgspec; print('ESCAPED')",
    "a folder by chroot": "import os; os.chroot('/tmp'); print('ESCAPED')",
}
"""Attempts to read what the host has."""

WRITES = {
    "a file of the host": "open({outside!r} + '/new', 'w').write('ESCAPED'); print('ESCAPED')",
    "a module of the library": "import os; open(os.__file__, 'a').write('#'); print('ESCAPED')",
    "the interpreter": "import sys; open(sys.executable, 'ab').write(b'0'); print('ESCAPED')",
    "the rights of the interpreter": "import os, sys; os.chmod(sys.executable, 0o4755); print('ESCAPED')",
    "the root": "open('/new', 'w').write('x'); print('ESCAPED')",
    "a device node": "import os, stat; os.mknod('disk', stat.S_IFBLK | 0o600, os.makedev(8, 0)); print('ESCAPED')",
    "more than /tmp holds": """
for at in range(4):
    open(str(at), 'wb').write(bytes(15 << 20))
print('ESCAPED')""",
    "one large file": "open('large', 'wb').write(bytes(17 << 20)); print('ESCAPED')",
}
"""Attempts to write what is not the program's own."""

CONNECTS = {
    "TCP": "import socket; socket.create_connection(('127.0.0.1', {port})); print('ESCAPED')",
    "TCP by IPv6": "import socket; socket.create_connection(('::1', {port})); print('ESCAPED')",
    "UDP": """
import socket
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', {port})); print('ESCAPED')""",
    "a name": "import socket; socket.getaddrinfo('localhost', 80)[0]; socket.socket(); print('ESCAPED')",
    "a socket in a folder": """
import socket
socket.socket(socket.AF_UNIX).connect({socket!r}); print('ESCAPED')""",
    "an abstract socket": """
import socket
socket.socket(socket.AF_UNIX).connect({abstract!r}); print('ESCAPED')""",
    "an abstract socket by a pair": """
import socket
pair = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
pair[0].sendto(b'x', {abstract!r}); print('ESCAPED')""",
    "a listener of its own": "import socket; socket.socketpair()[0].listen(); print('ESCAPED')",
    "the kernel's routes": "import socket; socket.socket(socket.AF_NETLINK, socket.SOCK_RAW); print('ESCAPED')",
    "an open descriptor": """
import os
for fd in range(3, 64):
    try:
        os.fstat(fd)
        print('ESCAPED', fd)
    except OSError:
        pass""",
}
"""Attempts to reach something outside."""

STARTS = {
    "a process": """
import os
if os.fork() == 0:
    os._exit(0)
print('ESCAPED')""",
    "a fork bomb": """
import os
while True:
    try:
        os.fork()
        print('ESCAPED', flush=True)
    except OSError:
        pass""",
    "a program": "import subprocess, sys; subprocess.run([sys.executable, '-c', '']); print('ESCAPED')",
    "a program by posix_spawn": """
import os, sys
os.posix_spawn(sys.executable, [sys.executable, '-c', ''], {{}}); print('ESCAPED')""",
    "a thread": "import threading; threading.Thread(target=print, args=['ESCAPED']).start()",
    "2,000 threads": """
import _thread, time
for _ in range(2000):
    try:
        _thread.start_new_thread(print, ('ESCAPED',))
    except RuntimeError:
        pass""",
    "a program in its place without the filter": """
import os, sys
code = "import os; os.fork(); print('ESCAPED')"
os.execv(sys.executable, [sys.executable, '-I', '-S', '-c', code])""",
}
"""Attempts to start something."""

CALL = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)

def call(*arguments):
    ctypes.set_errno(0)
    found = libc.syscall(*(ctypes.c_long(each) for each in arguments))
    return found, ctypes.get_errno()
"""
"""A system call by its number."""

NUMBERS = {
    "fork": 57,
    "vfork": 58,
    "clone": 56,
    "clone3": 435,
    "fork by the numbers of x32": 0x40000000 + 57,
    "connect": 42,
    "socket": 41,
    "kill": 62,
    "ptrace": 101,
    "process_vm_readv": 310,
    "process_vm_writev": 311,
    "pidfd_open": 434,
    "mount": 165,
    "umount2": 166,
    "pivot_root": 155,
    "chroot": 161,
    "open_tree": 428,
    "fsopen": 430,
    "move_mount": 429,
    "unshare": 272,
    "setns": 308,
    "setuid": 105,
    "setgid": 106,
    "capset": 126,
    "prctl": 157,
    "seccomp": 317,
    "io_uring_setup": 425,
    "keyctl": 250,
    "add_key": 248,
    "bpf": 321,
    "userfaultfd": 323,
    "perf_event_open": 298,
    "memfd_create": 319,
    "name_to_handle_at": 303,
    "open_by_handle_at": 304,
    "shmget": 29,
    "msgget": 68,
    "mq_open": 240,
    "personality": 135,
    "init_module": 175,
    "reboot": 169,
    "syslog": 103,
    "swapon": 167,
    "settimeofday": 164,
    "sethostname": 170,
    "setpriority": 141,
    "sched_setaffinity": 203,
    "inotify_init": 253,
    "fanotify_init": 300,
    "landlock_create_ruleset": 444,
    "a call that no kernel has yet": 999,
}
"""System calls that must be refused, whatever their arguments."""

INTERRUPT = """
import ctypes, mmap
code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
code.write(bytes([0xB8, 20, 0, 0, 0, 0xCD, 0x80, 0xC3]))  # mov eax, 20 (getpid of i386); int 0x80; ret
address = ctypes.addressof(ctypes.c_char.from_buffer(code))
ctypes.CFUNCTYPE(ctypes.c_int)(address)()
print('ESCAPED')
"""
"""A system call by the numbers of i386."""

GROWS = {
    "4 GiB at once": "x = bytearray(4 << 30); print('ESCAPED')",
    "4 GiB by and by": "x = [bytearray(64 << 20) for _ in range(64)]; print('ESCAPED')",
    "4 GiB by mmap": "import mmap; x = mmap.mmap(-1, 4 << 30); print('ESCAPED')",
    "its limit of memory": """
import resource
resource.setrlimit(resource.RLIMIT_AS, (-1, -1)); print('ESCAPED')""",
    "its limit of time": """
import resource
resource.setrlimit(resource.RLIMIT_CPU, (100, 100)); print('ESCAPED')""",
    "its priority": "import os; os.nice(-10); print('ESCAPED')",
    "open files": "x = [open('/tmp/a', 'w') for _ in range(1000)]; print('ESCAPED')",
}
"""Attempts to take more than the limits."""

STAYS = {
    "a sleep": "import time; time.sleep(300)",
    "an endless loop": "while True: pass",
    "a loop that ignores its signals": """
import signal
for each in (signal.SIGTERM, signal.SIGXCPU, signal.SIGINT, signal.SIGHUP, signal.SIGALRM):
    signal.signal(each, signal.SIG_IGN)
while True:
    pass""",
    "a stop of itself": "import signal; signal.raise_signal(signal.SIGSTOP)",
    "closed output": """
import os, time
os.close(1)
os.close(2)
time.sleep(300)""",
    "a wait for input": "import time; input(); print('ESCAPED')",
    "a deadlock": "import _thread; lock = _thread.allocate_lock(); lock.acquire(); lock.acquire()",
    "an endless regular expression": "import re; re.match('(a*)*b', 'a' * 60)",
    "an exit that does not end": "import atexit, time; atexit.register(time.sleep, 300)",
}
"""Attempts to stay longer than the limits."""

FLOODS = {
    "standard output": "while True: print('x' * 1000)",
    "standard error": "import sys\nwhile True: print('x' * 1000, file=sys.stderr)",
    "one line": "print('x' * (100 << 20))",
}
"""Attempts to write more than the limit."""

SIGNALS = {
    "all processes": "import os; os.kill(-1, 9); print('ESCAPED')",
    "the first process": "import os; os.kill(1, 9); print('ESCAPED')",
    "its parent": "import os; os.kill(os.getppid(), 15); print('ESCAPED')",
    "its group": "import os; os.killpg(0, 9); print('ESCAPED')",
    "a process of the host": "import os; os.kill({pid}, 9); print('ESCAPED')",
}
"""Attempts to signal others."""
