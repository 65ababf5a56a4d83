// The list of keys.

import { type ReactNode, useState } from "react";
import { Dialog } from "./dialog.tsx";
import { areSingleKeysOn, isApple, setSingleKeys, showOverlay } from "./overlay.ts";
import { Icon } from "./parts.tsx";
import { texts } from "./texts/keys.ts";

const modifier = isApple ? "⌘" : "Ctrl";

const keys: readonly { readonly keys: readonly string[]; readonly text: string; readonly single?: boolean }[] = [
  { keys: [modifier, "K"], text: texts.keySearch },
  { keys: ["/"], text: texts.keySearch, single: true },
  { keys: ["?"], text: texts.keyHelp, single: true },
  { keys: ["↑", "↓"], text: texts.keyMove },
  { keys: ["→", "←"], text: texts.keyTree },
  { keys: ["Enter"], text: texts.keyOpen },
  { keys: ["Esc"], text: texts.keyClose },
];

export const Keys = (): ReactNode => {
  const [isOn, setOn] = useState(areSingleKeysOn);
  const close = (): void => showOverlay(undefined);
  return (
    <Dialog label={texts.keys} className="dialog" onClose={close}>
      <header>
        <h2>{texts.keys}</h2>
        <button type="button" className="copy" aria-label={texts.close} onClick={close}>
          <Icon name="close" />
        </button>
      </header>
      <dl className="keys">
        {keys.map(({ keys: each, text, single = false }) => (
          <div key={each.join(" ")} className={single && !isOn ? "off" : undefined}>
            <dt>
              {each.map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
      <label className="choice">
        <input
          type="checkbox"
          checked={isOn}
          onChange={({ target }) => {
            setSingleKeys(target.checked);
            setOn(target.checked);
          }}
        />
        {texts.singleKeys}
      </label>
    </Dialog>
  );
};
