// Verifies the log of an organization, step by step, with the progress and the verdict. Another page does not lose what was verified.

import { type ReactNode, useEffect, useRef, useState } from "react";
import type { AuditProblem, AuditVerification } from "../../../client/package.ts";
import { useAddress, withParameter } from "../address.ts";
import { ask } from "../api.ts";
import { exactTime } from "../format.ts";
import { announce, Badge, Copy, Failure, Link, Section } from "../parts.tsx";
import { onForget } from "../session.ts";
import { texts } from "../texts/audit.ts";
import { verificationOf } from "./requests.ts";

/** The last response of each organization. */
const verified = new Map<string, AuditVerification>();
onForget(() => verified.clear());

const isDone = ({ continueToken }: AuditVerification): boolean => continueToken === "";

interface Verification {
  readonly last: AuditVerification | undefined;
  readonly isRunning: boolean;
  readonly error: unknown;
  /** Continues after the last step, or begins anew without it. */
  readonly run: (from: AuditVerification | undefined) => void;
  readonly stop: () => void;
}

const useVerification = (uid: string): Verification => {
  const [last, setLast] = useState(verified.get(uid));
  const [isRunning, setRunning] = useState(false);
  const [error, setError] = useState<unknown>();
  const running = useRef(new AbortController());
  useEffect(() => () => running.current.abort(), []);
  const keep = (step: AuditVerification | undefined): void => {
    if (step) verified.set(uid, step);
    else verified.delete(uid);
    setLast(step);
  };
  const steps = async (from: AuditVerification | undefined, { signal }: AbortController): Promise<void> => {
    let step = from;
    do {
      step = (await ask(verificationOf(uid, step?.continueToken ?? ""), signal)).data;
      if (signal.aborted) return;
      keep(step);
    } while (!isDone(step));
    announce(texts.verdicts[step.state]);
  };
  const run = (from: AuditVerification | undefined): void => {
    const controller = new AbortController();
    running.current = controller;
    keep(from);
    setError(undefined);
    setRunning(true);
    void steps(from, controller)
      .catch((thrown: unknown) => !controller.signal.aborted && setError(thrown))
      .finally(() => running.current === controller && setRunning(false));
  };
  return { last, isRunning, error, run, stop: () => running.current.abort() };
};

/** The share of the kept entries that are verified. */
const shareOf = ({ firstEntry, lastEntry, endSequence }: AuditVerification): number => {
  if (!firstEntry || !lastEntry) return 0;
  const before = Number(firstEntry.sequence) - 1;
  return (Number(lastEntry.sequence) - before) / Math.max(1, Number(endSequence) - before);
};

const Problem = ({ problem: { description, entryUid } }: { readonly problem: AuditProblem }): ReactNode => {
  const url = useAddress();
  return (
    <li>
      <div className="long">{texts.problem(description)}</div>
      {entryUid === "" ? null : (
        <Link href={withParameter(url, "entry", entryUid)} isSamePage>
          {texts.showEntry}
        </Link>
      )}
    </li>
  );
};

const Verdict = ({ last }: { readonly last: AuditVerification }): ReactNode => {
  const { state, entryCount, firstEntry, lastEntry, problems } = last;
  const isIntact = state === "AUDIT_VERIFICATION_STATE_INTACT";
  return (
    <>
      <p className="sentence">
        {texts.verdicts[state]} <Badge tone={isIntact ? "good" : "warn"}>{isIntact ? texts.intact : texts.notIntact}</Badge>
      </p>
      {problems.length === 0 ? null : (
        <ul>
          {problems.map((problem) => (
            <Problem key={problem.description} problem={problem} />
          ))}
        </ul>
      )}
      {firstEntry && lastEntry ? (
        <p className="quiet long">
          {texts.verifiedSpan(
            Number(entryCount),
            firstEntry.sequence,
            exactTime(firstEntry.sealTime ?? ""),
            lastEntry.sequence,
            exactTime(lastEntry.sealTime ?? ""),
          )}
        </p>
      ) : null}
      {isIntact && lastEntry ? (
        <p className="quiet long">
          {texts.lastHash} <code>{lastEntry.hash}</code> <Copy text={`${lastEntry.sequence} ${lastEntry.hash}`} what={texts.lastHash} />
        </p>
      ) : null}
    </>
  );
};

export const VerificationSection = ({ uid }: { readonly uid: string }): ReactNode => {
  const { last, isRunning, error, run, stop } = useVerification(uid);
  const isInterrupted = !isRunning && last !== undefined && !isDone(last);
  const count = Number(last?.entryCount ?? 0);
  return (
    <Section
      title={texts.verifyTitle}
      action={
        <button type="button" className="button" onClick={isRunning ? stop : () => run(undefined)}>
          {isRunning ? texts.stop : last === undefined ? texts.verify : texts.verifyAgain}
        </button>
      }
    >
      <div className="section-body">
        {last === undefined && !isRunning ? <p className="quiet">{texts.verifyAbout}</p> : null}
        {isRunning || isInterrupted ? (
          <div className="quota">
            <progress max={1} value={last ? shareOf(last) : 0} aria-label={texts.verifyTitle} />
            <span>{isRunning ? texts.verifiedSoFar(count) : texts.stoppedAfter(count)}</span>
            {isInterrupted ? (
              <button type="button" className="button" onClick={() => run(last)}>
                {texts.continue}
              </button>
            ) : null}
          </div>
        ) : null}
        {last && (isDone(last) || last.problems.length > 0) ? <Verdict last={last} /> : null}
        {error === undefined ? null : <Failure error={error} />}
      </div>
    </Section>
  );
};
