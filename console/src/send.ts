// Writes of a form: one at a time, with violations by field.

import { useEffect, useRef, useState } from "react";
import { flushSync } from "react-dom";
import { ApiError } from "../../client/package.ts";
import { navigate } from "./address.ts";
import { type Answer, ask, preview, type Question, readAgain, type Sent } from "./api.ts";
import { texts } from "./texts/pages.ts";

export interface Problems {
  /** Of the request as a whole; "" if there is none. */
  readonly message: string;
  readonly fields: Readonly<Record<string, string>>;
  /** The resource has changed since it was read (412). */
  readonly isConflict: boolean;
}

const none: Problems = { message: "", fields: {}, isConflict: false };

const problemsOf = (error: unknown, fields: readonly string[]): Problems => {
  const violations = error instanceof ApiError ? error.violations : [];
  const named = violations.flatMap(({ field, description }): [string, string][] => {
    const name = field.slice(field.lastIndexOf(".") + 1);
    return fields.includes(name) ? [[name, description]] : [];
  });
  const isOffline = error instanceof ApiError && error.reason === "NO_CONNECTION";
  const message = isOffline ? texts.offline : error instanceof Error ? error.message : String(error);
  return {
    message: named.length > 0 && named.length === violations.length ? "" : message,
    fields: Object.fromEntries(named),
    isConflict: error instanceof ApiError && error.httpStatus === 412,
  };
};

/** True if the server may have made a change whose response was lost. */
const isOutcomeUnknown = (error: unknown): boolean =>
  error instanceof ApiError && (error.reason === "NO_CONNECTION" || ["UNAVAILABLE", "DEADLINE_EXCEEDED", "UNKNOWN", "INTERNAL"].includes(error.code));

/** 128 random bits. Not randomUUID, which requires TLS in browsers. */
const newKey = (): string => Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");

interface Sender {
  readonly problems: Problems;
  readonly isSending: boolean;
  /**
   * Sends, and returns the answer; undefined if it was refused. After a change, what the page shows is read again. If the change
   * removes the page's address, `next` returns the one to open before.
   */
  readonly send: <Data>(question: Question<Data>, next?: (data: Data) => string | undefined) => Promise<Answer<Data> | undefined>;
  /** Forgets the problems. */
  readonly clear: () => void;
}

export const useSend = (fields: readonly string[] = [], { isRead = false }: { readonly isRead?: boolean } = {}): Sender => {
  const [problems, setProblems] = useState(none);
  const [isSending, setSending] = useState(false);
  const stop = useRef(new AbortController());
  // Requests whose outcome is unknown, with their keys: sent again as they were, they are the same write.
  const unanswered = useRef(new Map<string, string>());
  const send: Sender["send"] = async (question, next) => {
    const write = JSON.stringify([question.name, question.request]);
    const earlier = unanswered.current.get(write);
    const key = earlier ?? newKey();
    setSending(true);
    setProblems(none);
    try {
      unanswered.current.set(write, key);
      const answer = await ask(question, stop.current.signal, { key, isRepeated: earlier !== undefined });
      unanswered.current.delete(write);
      const address = next?.(answer.data);
      if (address !== undefined) flushSync(() => navigate(address));
      if (!isRead) await readAgain();
      return answer;
    } catch (thrown) {
      if (!isOutcomeUnknown(thrown)) unanswered.current.delete(write);
      setProblems(problemsOf(thrown, fields));
      return undefined;
    } finally {
      setSending(false);
    }
  };
  return { problems, isSending, send, clear: () => setProblems(none) };
};

/** The request that a form would send. */
export const usePreview = (question: Question<unknown>): Sent | undefined => {
  const [sent, setSent] = useState<Sent>();
  const key = JSON.stringify([question.name, question.request, question.command]);
  const latest = useRef(question);
  latest.current = question;
  useEffect(() => {
    let isCurrent = key !== "";
    void preview(latest.current).then((each) => isCurrent && setSent(each));
    return () => {
      isCurrent = false;
    };
  }, [key]);
  return sent;
};
