// Releases memory of large buffers.

/**
 * Frees the memory at once if the buffer holds only these bytes; other views of it become empty.
 * V8 counts external buffers late and would otherwise let tens of megabytes accumulate.
 */
export const releaseBytes = ({ buffer, byteLength }: Uint8Array): void => {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
};
