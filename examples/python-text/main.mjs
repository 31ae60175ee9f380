import { createServer } from 'tritonts';

const texts = process.argv.slice(2);
if (texts.length === 0) texts.push('Wer hat das gesagt?', "C'est la vie");

const server = await createServer('./models');
const answers = await Promise.all(texts.map((text) => server.infer('language', { text: [text] })));
for (const { outputs } of answers)
  console.log(outputs.label.strings()[0], outputs.score.as('FP32').data[0].toFixed(2));
await server.close();
