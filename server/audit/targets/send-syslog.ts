// Sends to a syslog receiver: RFC 5424 over TLS (RFC 5425) or TCP (RFC 6587).
//
// Syslog has no acknowledgment, so each batch has its own connection. This side closes after writing, and the receiver after reading
// everything. If it dies earlier, its machine resets the connection because of the unread bytes.

import { readFile } from "node:fs/promises";
import type { Socket } from "node:net";
import type { ConnectTarget, Outbound } from "#authn";
import { Fault } from "#base/fault.ts";
import type { Send } from "./send.ts";
import type { CertificateFiles } from "./targets-file.ts";

/** Facility 13 (log audit), severity 6 (informational) (RFC 5424 §6.2.1). */
const priority = 13 * 8 + 6;

const timeForm = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;

/** RFC 5424 §6.2.4: printable ASCII without spaces. */
const hostnameOf = (publicUrl: string): string => (URL.parse(publicUrl)?.hostname ?? "").replace(/[^\x21-\x7e]/g, "").slice(0, 255) || "-";

/** The header has no untrusted text; the JSON is ASCII without line breaks. */
const syslogMessage = (line: string, hostname: string): string => {
  const { createTime } = JSON.parse(line) as { readonly createTime?: unknown };
  const time = typeof createTime === "string" && timeForm.test(createTime) ? createTime : "-";
  return `<${priority}>1 ${time} ${hostname} gantry - audit - ${line}`;
};

/** RFC 6587 §3.4.1 and RFC 5425 §4.3: octet counting. */
const frame = (message: string): string => `${Buffer.byteLength(message)} ${message}`;

const writeAndClose = (socket: Socket, text: string, signal: AbortSignal): Promise<void> =>
  new Promise((confirm, refuse) => {
    let isWritten = false;
    const end = (problem?: Error): void => {
      signal.removeEventListener("abort", abort);
      socket.destroy();
      if (problem) refuse(problem);
      else confirm();
    };
    const abort = (): void => end(new Error("it took too long, or did not close its side of the connection after this one was closed"));
    signal.addEventListener("abort", abort);
    if (signal.aborted) abort();
    socket.on("error", (error) => end(error));
    socket.on("end", () => end(isWritten ? undefined : new Error("it closed the connection in the middle")));
    socket.on("close", () => end(new Error("the connection was lost")));
    // Ignores anything received.
    socket.resume();
    socket.end(text, () => {
      isWritten = true;
    });
  });

export interface SyslogReceiver extends Omit<ConnectTarget, "shown"> {
  readonly shown?: CertificateFiles | undefined;
}

export const sendToSyslog =
  (outbound: Pick<Outbound, "connect">, { shown, ...target }: SyslogReceiver, publicUrl: string): Send =>
  async (lines, signal) => {
    const hostname = hostnameOf(publicUrl);
    const frames = lines.map((line) => frame(syslogMessage(line, hostname)));
    // Read per batch, so that renewal needs no restart.
    const certificate = shown && { cert: await readFile(shown.certificateFile, "utf8"), key: await readFile(shown.keyFile, "utf8") };
    const socket = await outbound.connect("audit", { ...target, shown: certificate }).catch((thrown: unknown) => {
      throw thrown instanceof Fault && thrown.cause instanceof Error ? thrown.cause : thrown;
    });
    await writeAndClose(socket, frames.join(""), signal);
  };
