// Preloaded into a program: SIGUSR2 moves its clock, and moves it back. With CLOCK_SHIFTED=1, it is moved from the beginning.

const shiftMs = 90_000;

const { now } = Date;
let isShifted = process.env.CLOCK_SHIFTED === "1";
Date.now = () => now() + (isShifted ? shiftMs : 0);
process.on("SIGUSR2", () => {
  isShifted = !isShifted;
});
