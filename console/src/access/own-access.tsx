// What the caller may do in a group.

import { Fragment, type ReactNode } from "react";
import { Icon, Section } from "../parts.tsx";
import { texts } from "../texts/access.ts";

/** Returns the verbs of each resource: "repo" with "list", "create". */
const byResource = (capabilities: readonly string[]): ReadonlyMap<string, readonly string[]> => {
  const resources = new Map<string, string[]>();
  for (const name of capabilities) {
    const at = name.lastIndexOf(".");
    const resource = name.slice(0, at);
    resources.set(resource, [...(resources.get(resource) ?? []), name.slice(at + 1)]);
  }
  return new Map([...resources].sort(([one], [other]) => (one < other ? -1 : 1)));
};

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
        <dl>
          {[...byResource([...capabilities])].map(([resource, verbs]) => (
            <div key={resource}>
              <dt>
                {resource.split(".").map((part, index) => (
                  <Fragment key={part}>
                    {index === 0 ? null : (
                      <>
                        .<wbr />
                      </>
                    )}
                    {part}
                  </Fragment>
                ))}
              </dt>
              <dd>
                {verbs.map((verb) => (
                  <code key={verb}>{verb}</code>
                ))}
              </dd>
            </div>
          ))}
        </dl>
      </details>
    )}
  </Section>
);
