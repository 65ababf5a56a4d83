// Loaded before each test file (run-files.ts): a file that has not ended after ?ms= ends as one that failed. Its tests may be over,
// and something in it still open; node's runner would wait for it for ever.

const ms = Number(new URL(import.meta.url).searchParams.get("ms"));

setTimeout(() => {
  process.stderr.write(`${process.argv[1] ?? ""} has not ended after ${ms / 1000} s: something in it is still open\n`);
  process.exit(1);
}, ms).unref();
