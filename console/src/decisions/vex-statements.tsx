// VEX statements that are attached to the image of a finding: claims of others, except for those that a trusted source has signed.

import type { ReactNode } from "react";
import type { VexStatement } from "../../../client/package.ts";
import { Badge, Name, Time } from "../parts.tsx";
import { texts } from "../texts/decisions.ts";

export const VexStatements = ({ statements }: { readonly statements: readonly VexStatement[] }): ReactNode =>
  statements.length === 0 ? null : (
    <section className="statements" aria-label={texts.vexTitle}>
      <h3>{texts.vexTitle}</h3>
      <p className="quiet">{texts.vexText}</p>
      <ul>
        {statements.map(({ manifestDigest, documentDigest, vulnerability, status, justification, claimedAuthor, note, statementTime, vexSourceUids }) => (
          <li key={[manifestDigest, documentDigest, vulnerability, status, justification, note, statementTime].join(" ")}>
            <strong>{texts.vexStatuses[status]}</strong>
            {justification === "FINDING_DECISION_JUSTIFICATION_UNSPECIFIED" ? null : `, ${texts.justifications[justification].toLowerCase()}`}{" "}
            <span className="quiet">
              {texts.vexClaimedBy} <Name>{claimedAuthor === "" ? texts.vexNobody : claimedAuthor}</Name>, <Time time={statementTime} />
            </span>
            {vexSourceUids.length === 0 ? null : <Badge tone="good">{texts.vexSigned}</Badge>}
            {note === "" ? null : (
              <p>
                <Name>{note}</Name>
              </p>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
