// Preloaded into a server: SIGUSR2 moves its clock, and moves it back.

const shiftMs = 90_000;

const { now } = Date;
let isShifted = false;
Date.now = () => now() + (isShifted ? shiftMs : 0);
process.on("SIGUSR2", () => {
  isShifted = !isShifted;
});
