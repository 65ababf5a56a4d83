// Loaded before each test file (run-files.ts): fails a file that is still running after ?ms=. Something may be open although its
// tests have ended, and node's runner would wait forever.

const ms = Number(new URL(import.meta.url).searchParams.get("ms"));

setTimeout(() => {
  process.stderr.write(`${process.argv[1] ?? ""} has not ended after ${ms / 1000} s: something in it is still open\n`);
  process.exit(1);
}, ms).unref();
