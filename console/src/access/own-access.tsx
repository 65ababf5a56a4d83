// What the caller may do in a group.

import type { ReactNode } from "react";
import { Icon, Section } from "../parts.tsx";
import { texts } from "../texts/access.ts";
import { CapabilityList } from "./capability-list.tsx";

export const OwnAccess = ({ capabilities }: { readonly capabilities: ReadonlySet<string> }): ReactNode => (
  <Section title={texts.yourAccess} count={texts.capabilityCount(capabilities.size)}>
    <ul className="abilities">
      {texts.abilities.map(({ capability, text }) => {
        const isHeld = capabilities.has(capability);
        return (
          <li key={capability} className={isHeld ? "held" : undefined}>
            <Icon name={isHeld ? "check" : "minus"} />
            <span>
              <span className="unseen">{isHeld ? texts.mayDo : texts.mayNotDo} </span>
              {text}
              {isHeld ? null : <small>{texts.needs([capability])}</small>}
            </span>
          </li>
        );
      })}
    </ul>
    {capabilities.size === 0 ? null : (
      <details className="all-capabilities">
        <summary>{texts.allCapabilities(capabilities.size)}</summary>
        <CapabilityList capabilities={[...capabilities]} />
      </details>
    )}
  </Section>
);
