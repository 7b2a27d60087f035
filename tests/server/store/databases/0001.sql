BEGIN TRANSACTION;
CREATE TABLE alarm (
	id INTEGER NOT NULL, 
	"key" VARCHAR(120) NOT NULL, 
	text TEXT NOT NULL, 
	at DATETIME NOT NULL, 
	game_id VARCHAR(16), 
	cleared_at DATETIME, 
	CONSTRAINT pk_alarm PRIMARY KEY (id), 
	CONSTRAINT fk_alarm_game_id_game FOREIGN KEY(game_id) REFERENCES game (id), 
	CONSTRAINT uq_alarm_key UNIQUE ("key")
);
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0001');
CREATE TABLE beat (
	part VARCHAR(10) NOT NULL, 
	at DATETIME NOT NULL, 
	CONSTRAINT pk_beat PRIMARY KEY (part)
);
CREATE TABLE deed (
	id INTEGER NOT NULL, 
	game_id VARCHAR(16) NOT NULL, 
	seq INTEGER NOT NULL, 
	person_id INTEGER NOT NULL, 
	at DATETIME NOT NULL, 
	CONSTRAINT pk_deed PRIMARY KEY (id), 
	CONSTRAINT fk_deed_game_id_game FOREIGN KEY(game_id) REFERENCES game (id), 
	CONSTRAINT fk_deed_person_id_person FOREIGN KEY(person_id) REFERENCES person (id)
);
INSERT INTO "deed" VALUES(1,'v7z5kzc37hfc',11,4,'2026-03-03 10:00:00.000000');
INSERT INTO "deed" VALUES(2,'v7z5kzc37hfc',13,4,'2026-03-03 10:01:00.000000');
CREATE TABLE entry (
	game_id VARCHAR(16) NOT NULL, 
	seq INTEGER NOT NULL, 
	at VARCHAR(24) NOT NULL, 
	seat INTEGER, 
	"by" VARCHAR(10) NOT NULL, 
	move TEXT NOT NULL, 
	note TEXT, 
	salt VARCHAR(32) NOT NULL, 
	hash VARCHAR(64) NOT NULL, 
	request_id VARCHAR(64), 
	CONSTRAINT pk_entry PRIMARY KEY (game_id, seq), 
	CONSTRAINT fk_entry_game_id_game FOREIGN KEY(game_id) REFERENCES game (id), 
	CONSTRAINT uq_entry_game_id_seat_request_id UNIQUE (game_id, seat, request_id)
);
INSERT INTO "entry" VALUES('wykbvz4q2nmj',1,'2026-03-02T10:00:00.000Z',NULL,'chance','shuffle deal grain2 olive4 grain2 grain1 cloth2 merchant olive1 wine3 wine2 wine3 olive3 spice1 wood3 wood1 spice1 spice2 merchant olive2 grain3 olive1 cloth1 wood1 merchant wine2 wood2 wine4 merchant wine1 spice1 cloth2 merchant olive3 wood1 cloth4 spice2 wine1 cloth2 merchant wine1 grain1 cloth3 wood2 olive2 wood2 olive2 olive1 spice4 grain4 wood1 merchant olive1 merchant wine2 spice4 cloth1 cloth2 olive3 wine1 olive2 grain1 wine2 merchant wood1 cloth1 cloth1 wine4 grain1 spice2 spice1 cloth1 olive1 cloth3 grain1 wood2 merchant spice3 merchant wood3 grain4 merchant wood2 cloth2 grain3 wood4 spice3 wine1 olive4 wine3 spice1 spice3 cloth4 olive1 spice2 wine2 spice2 merchant merchant wood1 grain2 cloth1 merchant wine1 wood4 grain2 olive2 merchant grain1 grain3 wood3 grain2 cloth3 spice1',NULL,'a4a3a1c2f94f1a418ba3d8c1eb7a6b52','a168da040a06a3b3fbb41f1089a90242cbbc8a0e5758f93ba063c5a9c4e9963d',NULL);
INSERT INTO "entry" VALUES('bchi4rcen5jq',1,'2026-03-02T10:00:00.000Z',NULL,'chance','shuffle deal:1 10r 9r 5r 8r 8b qb qr jr 6r kb 4r 2b 6b 3b jb 9b 3r 7b kr 4b 2r 7r 10b 5b',NULL,'b703985b964f8ebb0787c4df73afe123','0e25269e3447277038193fc7023c61602a91614afa8a1eb147256fd4c6550ff0',NULL);
INSERT INTO "entry" VALUES('v7z5kzc37hfc',1,'2026-03-02T10:00:00.000Z',NULL,'chance','shuffle foes:1 rebellion barbarians infantry infantry fleets heavy-cavalry bulgarians rebellion fleets light-cavalry decadence light-cavalry huns siege disease barbarians barbarians persians siege plague siege weakness heavy-cavalry siege gothic-tribes infantry barbarians vandals avars infantry heavy-cavalry slavs exhaustion revolts barbarians light-cavalry fleets fleets light-cavalry crisis plague heavy-cavalry barbarians famine barbarians fleets heavy-cavalry sassanids barbarians infantry sassanids light-cavalry barbarians siege light-cavalry barbarians light-cavalry light-cavalry siege renegade famine riots light-cavalry fleets infantry heavy-cavalry barbarians barbarians exhaustion',NULL,'ee7ab3f81e70ed51c1028f64cd42c3ef','85168cd7b0d48bb19c1635fc6814430ff735cda83a60d531d6541b59327c7207',NULL);
INSERT INTO "entry" VALUES('v7z5kzc37hfc',2,'2026-03-02T10:00:00.000Z',NULL,'chance','shuffle byzantines:1 reforms cuisine-dress music-dance treachery fortifications autocracy reconquest light-cavalry greek-fire-fleets coinage taxes tribute fortifications literature science varangian-guard militias greek-fire-fleets belisarius mercenaries reforms mercenaries constantinople-walls justinian allied-contingents civilization cataphracts administration siege-engines bureaucracy unique-art greek-orthodoxy mercenaries mercenaries marriage light-infantry treaty restoration light-cavalry hagia-sophia heavy-infantry trade missionaries garrison-troops architecture trade diplomacy codex-justinianus allied-contingents cataphracts allied-contingents stronghold campaigns',NULL,'86dd79ef8f0139c1e5c2cc69441deb14','e185041af019e4efe8ed8910cf884883639c2e41ebe346a4785c0ee3d5ca1691',NULL);
INSERT INTO "entry" VALUES('wykbvz4q2nmj',2,'2026-03-02T11:00:00.000Z',0,'player','bid olive4',NULL,'05a57421c7eea111428606d51cada266','08c75990960735d9e9c0ad3f86a8966693e592c7f80a356e2720b73fabd9a659','old-0.9478653606090632');
INSERT INTO "entry" VALUES('wykbvz4q2nmj',3,'2026-03-02T11:07:00.000Z',1,'player','bid cloth2 wine3',NULL,'099ea3e02e0857530d904728ef09e3d0','ec4c47c9f34f1208703b960329db394eae0914f56b2007aada471d5eabf5708e','old-0.6509344730398537');
INSERT INTO "entry" VALUES('wykbvz4q2nmj',4,'2026-03-02T11:14:00.000Z',2,'player','pass',NULL,'e286a6acc95a349a7c27de4a37350d30','de7a38596498adb9a0170ced7de2ef5c36d42bdfaad03d4729314b9b033aedc7','old-0.8212742919913083');
INSERT INTO "entry" VALUES('wykbvz4q2nmj',5,'2026-03-02T11:21:00.000Z',0,'player','pass',NULL,'1b470f3e60c432543e97abf6a1248e7d','cab4158bbd57aeae164d3767ee8bc92e7b53e6faa0ffa4e4911a5dbf6584380d','old-0.36568891691258554');
INSERT INTO "entry" VALUES('wykbvz4q2nmj',6,'2026-03-02T11:28:00.000Z',1,'player','tax cloth1',NULL,'cb54a51e8e24f107f9f4da9df185aebc','ba55e5a3e296ce8b3a921659f82e0167d9ceb0472d09fa6e22c72c8d27fd849a','old-0.9097040631431023');
INSERT INTO "entry" VALUES('wykbvz4q2nmj',7,'2026-03-02T11:35:00.000Z',2,'player','bid olive3 spice1',NULL,'6a00d499dbe8089b22ef5dd074ee7559','05efe0f037bb9a7029ed419b4029ee3ae2509832cf5704428373464f92008a2d','old-0.03749565844198488');
INSERT INTO "entry" VALUES('wykbvz4q2nmj',8,'2026-03-02T11:42:00.000Z',0,'player','bid grain2 olive4',NULL,'828786c401bf9bcad910145cdde3a750','8bb38aec920660bec40011c21ef68fa30026ea3812eb156e62f4cad070cfb838','old-0.41817215137075947');
INSERT INTO "entry" VALUES('wykbvz4q2nmj',9,'2026-03-02T11:49:00.000Z',2,'player','pass',NULL,'35035013af970f17c0ccb15a872522c1','3bcc945a4ae6f6151a9469da6ef64bfe2db888675eadbeec985ebe213743db4f','old-0.09071301334386506');
INSERT INTO "entry" VALUES('wykbvz4q2nmj',10,'2026-03-02T11:56:00.000Z',0,'player','tax merchant',NULL,'55af2ab75d2ec36fbfdb98b677130e41','a79c20fc9140fdc50d32df4d39b2dc715807cffdac97231be13fa7e8ee7cb379','old-0.059110506078989156');
INSERT INTO "entry" VALUES('wykbvz4q2nmj',11,'2026-03-02T12:03:00.000Z',2,'player','tax wine1',NULL,'0abe1db524805c899b9ae7e390d505d9','c4d74d3b94d89c9e5e192da3163ea2d00a81d7cf3bd3a2cc12ac9636f2541c7a','old-0.9474497007074875');
INSERT INTO "entry" VALUES('wykbvz4q2nmj',12,'2026-03-02T12:10:00.000Z',2,'player','take merchant',NULL,'d8c95dc715984a7b7b9811b54855cd57','c603806a78537b49823679f587504d5f7c77ad658f70ef820d53c9e97c7f6501','old-0.9477089424570057');
INSERT INTO "entry" VALUES('wykbvz4q2nmj',13,'2026-03-02T12:17:00.000Z',0,'player','take wine',NULL,'60e253d7c25e5bf5f475ed283ec11fa0','495960361d0b0324ca55fbd0343f138c67df96e9d236fc6840c5d67cf0fcb16b','old-0.04958931338977146');
INSERT INTO "entry" VALUES('wykbvz4q2nmj',14,'2026-03-02T12:24:00.000Z',1,'player','take cloth',NULL,'2d2b73e070487ea5a24e92407655359e','ffdad7e1de88588950bd1db295e94444f5635e87d882579873918e9286f58ef9','old-0.04658268061775628');
INSERT INTO "entry" VALUES('wykbvz4q2nmj',15,'2026-03-02T12:31:00.000Z',1,'player','sell olive1 olive1 olive2',NULL,'57308dc54001d76024234a12b9c42158','bafcbb4dc41014b3b509764c9e177fda9e49f6af2f21a5bbef8ba1d85d211e35','old-0.28960928633167626');
INSERT INTO "entry" VALUES('wykbvz4q2nmj',16,'2026-03-02T12:38:00.000Z',2,'player','bid spice1 wine2',NULL,'f0c2d2d8cbcaf39576ee67ae09bdffea','0fd2e4527155af7aba49d0078d793ee60c45b044a64cb54f2661774283d67949','old-0.5406858855321425');
INSERT INTO "entry" VALUES('wykbvz4q2nmj',17,'2026-03-02T12:45:00.000Z',0,'player','bid grain2 wine1 wine2 wine4',NULL,'a69d21c1760db84bdce5453e5a108cfd','089de50e80b50e4ebd9be58bc37eb33aebf47e945533ac9eecf36b912d548bb9','old-0.30848182410193437');
INSERT INTO "entry" VALUES('wykbvz4q2nmj',18,'2026-03-02T12:45:00.000Z',1,'rules','pass',NULL,'f0a2a7e97e66deed09280f1242c8c023','52e7784bf2c33df580c098b59601f200a82edfe30777a9372010094b895b2805',NULL);
INSERT INTO "entry" VALUES('wykbvz4q2nmj',19,'2026-03-02T12:45:00.000Z',2,'rules','pass',NULL,'300431d5516bf7717cea4b5f36fdd27d','6ec0c98200cb8538f7b4b8d46411facf24fd39fc6e169cf38be43d3c8c4e99b5',NULL);
INSERT INTO "entry" VALUES('wykbvz4q2nmj',20,'2026-03-02T12:52:00.000Z',0,'player','tax merchant',NULL,'b4111b4d03b207261a1a0710b500c7be','85f07d74628dde42ba18a80f122c0a75cf323a5230a3bc90f622757a442b0d31','old-0.18072637992393747');
INSERT INTO "entry" VALUES('wykbvz4q2nmj',21,'2026-03-02T12:59:00.000Z',0,'player','discard olive3',NULL,'9f448bf0fc62d703e088837a35e41ed7','edf91748da90a6639d2bc66a6896280773b87136a17de73fe16ba5af4b2ab307','old-0.3723975427257312');
INSERT INTO "entry" VALUES('wykbvz4q2nmj',22,'2026-03-02T13:06:00.000Z',1,'player','bid wood1',NULL,'58b774576b3be33ca07f43b20e4cc229','4ab6d8cee074ea70023d56337a02c7622a495c1de598ef279f661e412a224bcd','old-0.5643682931333867');
INSERT INTO "entry" VALUES('wykbvz4q2nmj',23,'2026-03-02T13:13:00.000Z',2,'player','bid olive3 spice1 wine2',NULL,'116f5e44b4f88aaf1a45119c53978a3a','042f8b90a732cc7092547d1bd2f7a02f0866276ad06670a78538a8255f506611','old-0.20595871281932654');
INSERT INTO "entry" VALUES('wykbvz4q2nmj',24,'2026-03-02T13:20:00.000Z',1,'player','bid cloth1 cloth2 grain3',NULL,'214ebe8ea6a8e7cd779d0826c59dacb9','4f5c8c76827cae43ba5ebff3395aef52379a250aaeb1b946eceffdb6895aea05','old-0.777228774980807');
INSERT INTO "entry" VALUES('wykbvz4q2nmj',25,'2026-03-02T13:27:00.000Z',2,'player','bid wine3',NULL,'f2225d4236151798a141d25d8b5a4a1f','4ecc7d123db543cf1bc47006caa9a5583a3d80c1b600f00183a59e7c5bbb5bdb','old-0.5855618635076387');
INSERT INTO "entry" VALUES('wykbvz4q2nmj',26,'2026-03-02T13:27:00.000Z',1,'rules','pass',NULL,'ff2a97a19af1728f76f2c73ae72f03dd','4467834391c1802686f78c8f93ac57be819cbe79f08c4a541d3840d89a47d52d',NULL);
INSERT INTO "entry" VALUES('wykbvz4q2nmj',27,'2026-03-02T13:34:00.000Z',2,'player','tax merchant',NULL,'bfd66fc6de477119175736578f86fa27','e253e7d7b3d2a85862d0178e359e6f340fc4611b6ce540a354eb414e0281987c','old-0.36158235594456634');
INSERT INTO "entry" VALUES('wykbvz4q2nmj',28,'2026-03-02T13:41:00.000Z',1,'player','tax grain1',NULL,'5206bc966f32be808984a1fd644adf2d','f25cbd157d1b41b500dc4d358350adae9aed3e1f2e37fb44e745d4ee9194dd07','old-0.7943794815224912');
INSERT INTO "entry" VALUES('wykbvz4q2nmj',29,'2026-03-02T13:48:00.000Z',1,'player','take olive',NULL,'fb15e8080967e99cbcd7921743617397','f00579765e9a161e744f74ecdc261c83a86cd57fe7abbfa4da2dcb4d23d4cd74','old-0.08185501079576984');
INSERT INTO "entry" VALUES('bchi4rcen5jq',2,'2026-03-02T11:00:00.000Z',0,'player','put 10r on w',NULL,'28f423907af59a78bbf63ebd0b6b138f','0ff8735c56c8832210919a17583ce465521d2c2472dfe92feb1eec7dedb9d59d','old-0.5251965038114514');
INSERT INTO "entry" VALUES('bchi4rcen5jq',3,'2026-03-02T11:07:00.000Z',1,'player','put kr on wl',NULL,'efb9c7b7a5142c1d57eaf53882d0a87e','82dbae0a29469bb545d66340647a6198c38d720d378a396d5aa7669922edefd4','old-0.7294452894392176');
INSERT INTO "entry" VALUES('bchi4rcen5jq',4,'2026-03-02T11:14:00.000Z',0,'player','put qr on wr',NULL,'48547a1ae5ed43e12201f69eea91ad30','294833a810245ea0979e302b95be26449ee5a1ff9ffe6d3c5f3a525f1f7d83d9','old-0.6089590190364036');
INSERT INTO "entry" VALUES('bchi4rcen5jq',5,'2026-03-02T11:21:00.000Z',1,'player','put 2b on n',NULL,'ed1f6c906333d7e467c6cf482ab47e67','8f102bc0094582d604bc6ff272b5e30ad82282e53f222767560fa8ef2c801d9e','old-0.11806577825496212');
INSERT INTO "entry" VALUES('bchi4rcen5jq',6,'2026-03-02T11:28:00.000Z',0,'player','put 8b on nf',NULL,'2579ea4ff55744f44c1eac69984b10a6','4bea6ffed36406f054b595e0d183b38fa66b4589ce3ace131a345a9ccd7a5cda','old-0.16496210364357322');
INSERT INTO "entry" VALUES('bchi4rcen5jq',7,'2026-03-02T11:35:00.000Z',1,'player','put 9b on nff',NULL,'8bcbdb712dc3aff5b1b0e0b0b7a0fe69','c1370eeb8dd5be62c78afc61ad22839e01541e16a27c494554263ad52d1192a5','old-0.15198453466050477');
INSERT INTO "entry" VALUES('bchi4rcen5jq',8,'2026-03-02T11:42:00.000Z',0,'player','put qb on nfr',NULL,'0dd16a57dd373fbc7368ae3c1cb23643','ac3085f7de005526e4a438bb9c527e5366c32ea63aae5a097a09861d9265c347','old-0.4216983544767443');
INSERT INTO "entry" VALUES('bchi4rcen5jq',9,'2026-03-02T11:49:00.000Z',1,'player','put jb on nfl',NULL,'c28cfaf01c710f88b10bd2e811b802ed','78fae1494ac978169ff099fe7f44ffa00a17f1ae4c55989aabb639edc2354908','old-0.07762048218079554');
INSERT INTO "entry" VALUES('bchi4rcen5jq',10,'2026-03-02T11:56:00.000Z',0,'player','put jr on wf',NULL,'867703e849c479c72b3447e5a7898ac6','4d9645554a1e7dd3d6073ac1555785becdd9708d30bb8e187ab6297d406a3946','old-0.3401223621911955');
INSERT INTO "entry" VALUES('bchi4rcen5jq',11,'2026-03-02T12:03:00.000Z',1,'player','put 4b on s',NULL,'d4cfe1c1632462a078f79f781ccc7101','5b4c39e5a668629262f0f1ca4c86ec044910ccd1a31cdc53525cdc6b0f6b9d99','old-0.5943698771050184');
INSERT INTO "entry" VALUES('bchi4rcen5jq',12,'2026-03-02T12:10:00.000Z',0,'player','put kb on nr',NULL,'c2cda25d876904823234f8c574f40a2b','e32f5fb6e72941a322d6a7b914809e60c6ee22a4d0fb0551d9da4ad71a6c3199','old-0.7968919758215943');
INSERT INTO "entry" VALUES('bchi4rcen5jq',13,'2026-03-02T12:17:00.000Z',1,'player','put 4r on e',NULL,'e8db2146c6db86872e4f244801b31a4c','0d5a2d2ed065bf8d9ba6dd6a9ae8ec8d11b33db6c06312ec6e5c5abe8ff3933a','old-0.8399677805125414');
INSERT INTO "entry" VALUES('bchi4rcen5jq',14,'2026-03-02T12:24:00.000Z',0,'player','put 8r on ef',NULL,'2726e93f9f4decdad188db64f0436509','219a493ae557ea182a93bcc7b90225d8f72d72fa17d3e08821813e5e844f8dd5','old-0.47409833741964447');
INSERT INTO "entry" VALUES('bchi4rcen5jq',15,'2026-03-02T12:31:00.000Z',1,'player','put 7b on sl',NULL,'7752ba0cfcea22a6d29efa0daa6f7294','8a31fb546efbf430ac416051e16a5ebe9282ffb68f99b18c118865ca2d1f279c','old-0.06499997571609484');
INSERT INTO "entry" VALUES('bchi4rcen5jq',16,'2026-03-02T12:38:00.000Z',0,'player','put 9r on efr',NULL,'195c2a499d64dd5a7924d0bd421a2c4e','ad3ed12604dc324549fc6850b05dac89c106f4b29fc1f0f5198105a271e9777f','old-0.7014920213044239');
INSERT INTO "entry" VALUES('bchi4rcen5jq',17,'2026-03-02T12:38:00.000Z',1,'rules','put 6b on sf',NULL,'5d705b4cef0711f4210ac011952b111a','8ba781756f3ab38aaeda4209e6bc81fb8cf74688a0880db56915de351af9549a',NULL);
INSERT INTO "entry" VALUES('bchi4rcen5jq',18,'2026-03-02T12:38:00.000Z',0,'rules','pass',NULL,'4ec67d3e2f3f8b8c8662ce8ee17187bf','19ebcb51e3d380325ae347a8e42dfbe1873abff04a6e0d50184f50dc8ce11e58',NULL);
INSERT INTO "entry" VALUES('bchi4rcen5jq',19,'2026-03-02T12:38:00.000Z',1,'rules','pass',NULL,'0bb4f575066a5022b0cc0e6ae892e64c','043552e628f45e2d2d08fb4a1578d7c4047272264c9df1a669749d36bc958f39',NULL);
INSERT INTO "entry" VALUES('bchi4rcen5jq',20,'2026-03-02T12:38:00.000Z',NULL,'chance','shuffle deal:2 8r 6r 10r 2r 8b 6b qb 3r 10b 4b 7r 3b 9r kr 4r qr 7b 5b kb jb 2b 9b 5r jr',NULL,'abaacd2bbbde72fc09549b39d54874f8','9d882ebed33f12dc7bcfc4316f0b386f4a0c55436a3369dede0b937ed7b1dd8b',NULL);
INSERT INTO "entry" VALUES('bchi4rcen5jq',21,'2026-03-02T12:45:00.000Z',1,'player','put qb on n',NULL,'a548f505a57dfb344b65c73c5ac746e9','48777781a1ffab118f007e7cd448c9f6515040f62c2eae3d0d9d8da9310a3f8c','old-0.9930959394666341');
INSERT INTO "entry" VALUES('bchi4rcen5jq',22,'2026-03-02T12:52:00.000Z',0,'player','put kb on nf',NULL,'33d4cb0e015697b96ff0d928f739f2f7','821d9c09a74468c5150d1617ca9fbcaee962efa9fbfd79f34767e369daec308a','old-0.4456407672509217');
INSERT INTO "entry" VALUES('bchi4rcen5jq',23,'2026-03-02T12:59:00.000Z',1,'player','put 6b on s',NULL,'0ecfab205e0820fbc1dfb6348482c2a3','d7c2116adf8fc9fb6d4e51b64e38a88cf5fb8f5fad37c1743fead59300f4a693','old-0.3857914424467108');
INSERT INTO "entry" VALUES('bchi4rcen5jq',24,'2026-03-02T13:06:00.000Z',0,'player','put jb on sr',NULL,'ffed84c10a67b88794f78f61d74ac88d','832ee18dee8d72705124994e16d52f605ca04d6a9e7ccbb4d435241b9787ff60','old-0.34700525568845064');
INSERT INTO "entry" VALUES('bchi4rcen5jq',25,'2026-03-02T13:13:00.000Z',1,'player','put 8r on w',NULL,'721ad079a700e8e52e7a002f4678c66b','97b04dcc14fd69ef71505d4035170e7e8aac26b5fcd2955360614adf86f0d8b8','old-0.355464109540346');
INSERT INTO "entry" VALUES('bchi4rcen5jq',26,'2026-03-02T13:20:00.000Z',0,'player','put 7r on e',NULL,'9a6249e315ad68c0d4d1231b23fd2133','a6ea985734198c1dcbe941561be242adfdf2bbb5f2f951c2e9d4ec224851e9d9','old-0.49369299455698146');
INSERT INTO "entry" VALUES('bchi4rcen5jq',27,'2026-03-02T13:27:00.000Z',1,'player','put 3r on el',NULL,'67b6b1f032c0ab55b24780a9f3b0804e','38dea969b8ad268947e21bdd12d62b0af5a296acaf21955f2fd409149c654b37','old-0.7682329884725208');
INSERT INTO "entry" VALUES('bchi4rcen5jq',28,'2026-03-02T13:34:00.000Z',0,'player','put 4r on wf',NULL,'44935d9d529dd1e54e56d820647031e7','f31034474b7b04a1b9487f4133ea97df6f7de8afe155c8324096a74cfc09bf72','old-0.7383633795947941');
INSERT INTO "entry" VALUES('bchi4rcen5jq',29,'2026-03-02T13:41:00.000Z',1,'player','put 2r on wfr',NULL,'4ee710918b581d9d5a294a5f85358345','c7a30e9a1f7b5a8dff093f41dc2521081eaf9a61840231d586c91b38c0dd32cc','old-0.3909497031332271');
INSERT INTO "entry" VALUES('bchi4rcen5jq',30,'2026-03-02T13:48:00.000Z',0,'player','put 7b on sl',NULL,'1fabd63f76ce1da1cd435b469c6d0105','b9d15b7fba8fe0108257258aee27bd13487db4ae6d87d9e064e709553de7c685','old-0.08058130120013862');
INSERT INTO "entry" VALUES('bchi4rcen5jq',31,'2026-03-02T13:55:00.000Z',1,'player','put 10b on slr',NULL,'151198ca64358295a7623f43da2a13f0','b562ea79eb29cae701db20707fb71f259ed43832206bb8fa845803acb0798a6c','old-0.4016442563343041');
INSERT INTO "entry" VALUES('bchi4rcen5jq',32,'2026-03-02T13:55:00.000Z',0,'rules','pass',NULL,'73a74003f7ed2218803dc16bc28490f9','2414f84c9df53e54855b85d938ffed8a349de03b06627971ca1c6e246ac95ac5',NULL);
INSERT INTO "entry" VALUES('bchi4rcen5jq',33,'2026-03-02T14:02:00.000Z',1,'player','put 8b on sf',NULL,'eae6ca094a3f101bcac7ab4b091858a8','eb6835eb203bf4d108e9fdcd0d2849b88ad83a91544f7973620df9c5eb217b68','old-0.8833838264415125');
INSERT INTO "entry" VALUES('bchi4rcen5jq',34,'2026-03-02T14:09:00.000Z',1,'player','put 6r on wr',NULL,'11d368c33210de64bcaddd6cd35867d5','2d1c6af934bb28d78f0b6dbc9ddf0602131f996145c53857787cb30baf655cf1','old-0.8639844696985152');
INSERT INTO "entry" VALUES('bchi4rcen5jq',35,'2026-03-02T14:09:00.000Z',1,'rules','pass',NULL,'45c1ef9800a303220842199509116288','2b3e6d7e83ebcf8eea5b2d26f78222078f39f8ef1612f13f9df45b420c6efc4d',NULL);
INSERT INTO "entry" VALUES('v7z5kzc37hfc',3,'2026-03-02T11:00:00.000Z',0,'player','redraw light-cavalry fortifications reconquest reforms',NULL,'96cf03bc4937ff66404525444b5381e1','8284d9947f28311e82235c4e4d9acb51dd6ffdf321e15f9a6b71fccc702ee4c2','old-0.7063967094965019');
INSERT INTO "entry" VALUES('v7z5kzc37hfc',4,'2026-03-02T11:07:00.000Z',1,'player','redraw infantry infantry bulgarians',NULL,'86b9090ff2139b7994cf7df1efaf008d','f3d15656e4013bc060721099df239d19a9fa1bb35d9692ba57340b7d98737da4','old-0.6827230593874516');
INSERT INTO "entry" VALUES('v7z5kzc37hfc',5,'2026-03-02T11:14:00.000Z',0,'player','meld fortifications taxes music-dance cuisine-dress',NULL,'d5ce33eeed98b15da017923da6689471','3760f2acc4ee03204873c55310ec0f5ab27e0f089f47df8992d897e802120aad','old-0.9577312039639913');
INSERT INTO "entry" VALUES('v7z5kzc37hfc',6,'2026-03-02T11:21:00.000Z',1,'player','meld heavy-cavalry light-cavalry fleets fleets',NULL,'e32832e36bfa9b8c29a68e9eb56f32f1','95756f04d953001f20499a1d26276bbeb5c51f61c56a68da89665383e40fe0b3','old-0.08298469466133207');
INSERT INTO "entry" VALUES('v7z5kzc37hfc',7,'2026-03-02T11:28:00.000Z',0,'player','keep treachery',NULL,'21a7e09fbb3950fe08634d5fdb869b2f','a4152097edd927002fc5bd7cd3853d53adbd7830dcd3f3635ee78c396a3b5965','old-0.23195686681953576');
INSERT INTO "entry" VALUES('v7z5kzc37hfc',8,'2026-03-02T11:35:00.000Z',1,'player','keep barbarians',NULL,'004b7612b6857010b3c274019dd177d7','e4db4a7f1c117bcdf43fe222410b9aec0bb86c8e7043dfa93e9031ad089d2fad','old-0.012063059843798851');
INSERT INTO "entry" VALUES('v7z5kzc37hfc',9,'2026-03-02T11:42:00.000Z',0,'player','redraw light-cavalry siege huns disease',NULL,'828eae7c703e3abefffbcaa5f400e353','d7206ee0020fa7aaf280f58786ca2558a9d293bef810d47057294b60549334ba','old-0.1823428739811973');
INSERT INTO "entry" VALUES('v7z5kzc37hfc',10,'2026-03-02T11:49:00.000Z',1,'player','redraw belisarius varangian-guard greek-fire-fleets literature',NULL,'33dbbae53b3ea46a5d70606922fbdf25','16fe92d2c256a463bda1a498e1abe76fbf4f345a169164177df7ad9d110f97fa','old-0.004093603385063926');
INSERT INTO "entry" VALUES('v7z5kzc37hfc',11,'2026-03-03T10:00:00.000Z',NULL,'moderator','!void 10','A slip of the thumb.','001ed047eea3bff8d61a1e8cc9b7f824','5967e26ce5d58871e9f523864bc49391399b2038218346a0d420b72ae8b76670',NULL);
INSERT INTO "entry" VALUES('v7z5kzc37hfc',12,'2026-03-03T10:00:00.000Z',NULL,'moderator','!pause','A slip of the thumb.','469cd7c80c621c992e83ccf67a653601','97257dd944fd9b961d6df026657d07254a0776e856e61a3d6a8fb2cca5cd2ab4',NULL);
INSERT INTO "entry" VALUES('v7z5kzc37hfc',13,'2026-03-03T10:01:00.000Z',NULL,'moderator','!resume','Go on.','e6e9143157004e15741ff9136554f756','e7567c4f220c7e43dd424e771df2b8f4a1606e170ea7b0517bd6e044db167f0f',NULL);
CREATE TABLE game (
	id VARCHAR(16) NOT NULL, 
	slug VARCHAR(20) NOT NULL, 
	rules INTEGER NOT NULL, 
	name VARCHAR(60) NOT NULL, 
	organiser_id INTEGER, 
	status VARCHAR(10) NOT NULL, 
	allowance INTEGER NOT NULL, 
	seed VARCHAR(64) NOT NULL, 
	commitment VARCHAR(64) NOT NULL, 
	created_at DATETIME NOT NULL, 
	options TEXT NOT NULL, 
	time_zone VARCHAR(64) NOT NULL, 
	listed BOOLEAN NOT NULL, 
	started_at DATETIME, 
	ended_at DATETIME, 
	head INTEGER NOT NULL, 
	paused BOOLEAN NOT NULL, 
	result TEXT, 
	quarantine TEXT, 
	CONSTRAINT pk_game PRIMARY KEY (id), 
	CONSTRAINT fk_game_organiser_id_person FOREIGN KEY(organiser_id) REFERENCES person (id)
);
INSERT INTO "game" VALUES('wykbvz4q2nmj','byzanz',1,'The running one',1,'running',86400,'e057866c7f39f792820708b5e78152e426216c6e22b8d94cfe3f185e259ea58e','71042ba794e024d50aace3cabd94122aea1f736805a71a3bb67b5011a8fa37db','2026-03-02 10:00:00.000000','{}','UTC',0,'2026-03-02 10:00:00.000000',NULL,29,0,NULL,NULL);
INSERT INTO "game" VALUES('bchi4rcen5jq','byzantium',1,'The finished one',1,'over',86400,'e25245334901fff45e27ab9e99f7496590c1f52b80cb1c0ab179882bca8d2fc3','f202457ee9ba0c828f40e6855e13b1835e5b60c6fd6a6043260aaf92c6abbb5e','2026-03-02 10:00:00.000000','{}','UTC',0,'2026-03-02 10:00:00.000000','2026-03-02 14:09:00.000000',35,0,'{"scores": [7, 4], "winners": [1], "reason": "finished"}',NULL);
INSERT INTO "game" VALUES('aticuaxb54fe','empire',1,'The invited one',1,'inviting',86400,'261f5074ed2d21e6e25813260f05a852e90f1a720f25bb5105b8d7c60c35464c','0bce15630c861121870515efd1f28c3b4bf580c99e63d1998d88d2a4bf0a5dc5','2026-03-02 10:00:00.000000','{}','UTC',0,NULL,NULL,0,0,NULL,NULL);
INSERT INTO "game" VALUES('v7z5kzc37hfc','empire',1,'The voided one',1,'running',86400,'048370c1c97e58ec10a3e88cfe32be6e8636f885474188570d6294c2e931d441','ae28b1b47ffefa127007f2ea81dae78414e76574fa3f92a569eea6c5b16e962a','2026-03-02 10:00:00.000000','{}','UTC',0,'2026-03-02 10:00:00.000000',NULL,13,0,NULL,NULL);
CREATE TABLE link (
	id INTEGER NOT NULL, 
	purpose VARCHAR(10) NOT NULL, 
	person_id INTEGER NOT NULL, 
	nonce BLOB NOT NULL, 
	digest VARCHAR(64) NOT NULL, 
	created_at DATETIME NOT NULL, 
	game_id VARCHAR(16), 
	expires_at DATETIME, 
	revoked_at DATETIME, 
	used_at DATETIME, 
	CONSTRAINT pk_link PRIMARY KEY (id), 
	CONSTRAINT fk_link_game_id_game FOREIGN KEY(game_id) REFERENCES game (id), 
	CONSTRAINT fk_link_person_id_person FOREIGN KEY(person_id) REFERENCES person (id), 
	CONSTRAINT uq_link_digest UNIQUE (digest)
);
INSERT INTO "link" VALUES(1,'seat',1,X'F8540DA3B942F30BC8767A8B1B2976FA','01bec4266c720a404885d74d748e142f50fdffe62875874563ef9f78b4705e75','2026-03-02 10:00:00.000000','wykbvz4q2nmj',NULL,NULL,NULL);
INSERT INTO "link" VALUES(2,'seat',2,X'AB55096171BDD63A35F0A6BE8368BE06','0cec65b30989cee0a9799a7ff5265077a1eaff14580a19be372a191169563dd3','2026-03-02 10:00:00.000000','wykbvz4q2nmj',NULL,NULL,NULL);
INSERT INTO "link" VALUES(3,'seat',3,X'41EE3F0B3E3CDAABEA9429E9E86A994A','4546d0fec0d344e45d2bbe3e2c03e7dffaed5ea2d8df60e1e9b5d3217d00bfc8','2026-03-02 10:00:00.000000','wykbvz4q2nmj',NULL,NULL,NULL);
INSERT INTO "link" VALUES(4,'seat',1,X'D6F789EA2B6D9D33152C34E27A4D3708','f0b6abcc0f0a4b6ddf8f79afb173cf4032ffd02bd3c829dd1ef3ea48f678a9c3','2026-03-02 10:00:00.000000','bchi4rcen5jq',NULL,NULL,NULL);
INSERT INTO "link" VALUES(5,'seat',2,X'73C0B381919EFAE7BC1180880700B420','074fb9e68be251c9eb68d2f049a9d667b2ee8b19095f01709a66b1fc49ffcd23','2026-03-02 10:00:00.000000','bchi4rcen5jq',NULL,NULL,NULL);
INSERT INTO "link" VALUES(6,'seat',1,X'E78262109F59BC55D6ED63E55C0BB36A','4899fbde822767aaac1874ff349af41c72e125e32c1742165ec6b44a364e67db','2026-03-02 10:00:00.000000','v7z5kzc37hfc',NULL,NULL,NULL);
INSERT INTO "link" VALUES(7,'seat',2,X'9ED61433C55ACC9E9DCAD4382AC1B2E4','699fb87b4de9f02f8d9ebe90063aa3edc59222c8a9bf5553bd2e4ee7d9acfffb','2026-03-02 10:00:00.000000','v7z5kzc37hfc',NULL,NULL,NULL);
INSERT INTO "link" VALUES(8,'signin',1,X'69516E201F4F5E3BCE46BD5B056BABF7','9d6ba47122596d687db65ed68d54a69894d15d5bdba850d34b4671b81c3829c5','2026-03-03 10:00:00.000000',NULL,'2026-03-03 11:00:00.000000',NULL,NULL);
CREATE TABLE outage (
	id INTEGER NOT NULL, 
	part VARCHAR(10) NOT NULL, 
	from_at DATETIME NOT NULL, 
	to_at DATETIME NOT NULL, 
	CONSTRAINT pk_outage PRIMARY KEY (id), 
	CONSTRAINT uq_outage_part_from_at UNIQUE (part, from_at)
);
CREATE TABLE outbox (
	id INTEGER NOT NULL, 
	"key" VARCHAR(120) NOT NULL, 
	kind VARCHAR(20) NOT NULL, 
	person_id INTEGER NOT NULL, 
	created_at DATETIME NOT NULL, 
	not_before DATETIME NOT NULL, 
	game_id VARCHAR(16), 
	seat INTEGER, 
	seq INTEGER, 
	details TEXT NOT NULL, 
	status VARCHAR(10) NOT NULL, 
	attempts INTEGER NOT NULL, 
	leased_until DATETIME, 
	finished_at DATETIME, 
	error TEXT, 
	CONSTRAINT pk_outbox PRIMARY KEY (id), 
	CONSTRAINT fk_outbox_game_id_game FOREIGN KEY(game_id) REFERENCES game (id), 
	CONSTRAINT fk_outbox_person_id_person FOREIGN KEY(person_id) REFERENCES person (id), 
	CONSTRAINT uq_outbox_key UNIQUE ("key")
);
INSERT INTO "outbox" VALUES(1,'turn:wykbvz4q2nmj:0:1','turn',1,'2026-03-02 10:00:00.000000','2026-03-02 10:00:00.000000','wykbvz4q2nmj',0,1,'{}','sent',0,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES(2,'turn:bchi4rcen5jq:0:1','turn',1,'2026-03-02 10:00:00.000000','2026-03-02 10:00:00.000000','bchi4rcen5jq',0,1,'{}','sent',0,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES(3,'invite:aticuaxb54fe:0:1:0','invite',1,'2026-03-02 10:00:00.000000','2026-03-02 10:00:00.000000','aticuaxb54fe',0,NULL,'{}','sent',0,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES(4,'invite:aticuaxb54fe:1:2:0','invite',2,'2026-03-02 10:00:00.000000','2026-03-02 10:00:00.000000','aticuaxb54fe',1,NULL,'{}','waiting',0,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES(5,'turn:v7z5kzc37hfc:0:2','turn',1,'2026-03-02 10:00:00.000000','2026-03-02 10:00:00.000000','v7z5kzc37hfc',0,2,'{}','waiting',0,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES(6,'turn:v7z5kzc37hfc:1:2','turn',2,'2026-03-02 10:00:00.000000','2026-03-02 10:00:00.000000','v7z5kzc37hfc',1,2,'{}','waiting',0,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES(7,'turn:wykbvz4q2nmj:1:2','turn',2,'2026-03-02 11:00:00.000000','2026-03-02 11:00:00.000000','wykbvz4q2nmj',1,2,'{}','waiting',0,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES(8,'turn:wykbvz4q2nmj:2:3','turn',3,'2026-03-02 11:07:00.000000','2026-03-02 11:07:00.000000','wykbvz4q2nmj',2,3,'{}','waiting',0,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES(9,'turn:wykbvz4q2nmj:0:4','turn',1,'2026-03-02 11:14:00.000000','2026-03-02 11:14:00.000000','wykbvz4q2nmj',0,4,'{}','waiting',0,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES(10,'turn:wykbvz4q2nmj:1:5','turn',2,'2026-03-02 11:21:00.000000','2026-03-02 11:21:00.000000','wykbvz4q2nmj',1,5,'{}','waiting',0,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES(11,'turn:wykbvz4q2nmj:2:6','turn',3,'2026-03-02 11:28:00.000000','2026-03-02 11:28:00.000000','wykbvz4q2nmj',2,6,'{}','waiting',0,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES(12,'turn:wykbvz4q2nmj:0:7','turn',1,'2026-03-02 11:35:00.000000','2026-03-02 11:35:00.000000','wykbvz4q2nmj',0,7,'{}','waiting',0,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES(13,'turn:wykbvz4q2nmj:2:8','turn',3,'2026-03-02 11:42:00.000000','2026-03-02 11:42:00.000000','wykbvz4q2nmj',2,8,'{}','waiting',0,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES(14,'turn:wykbvz4q2nmj:0:9','turn',1,'2026-03-02 11:49:00.000000','2026-03-02 11:49:00.000000','wykbvz4q2nmj',0,9,'{}','waiting',0,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES(15,'turn:wykbvz4q2nmj:2:10','turn',3,'2026-03-02 11:56:00.000000','2026-03-02 11:56:00.000000','wykbvz4q2nmj',2,10,'{}','waiting',0,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES(16,'turn:wykbvz4q2nmj:2:11','turn',3,'2026-03-02 12:03:00.000000','2026-03-02 12:05:00.000000','wykbvz4q2nmj',2,11,'{}','waiting',0,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES(17,'turn:wykbvz4q2nmj:0:12','turn',1,'2026-03-02 12:10:00.000000','2026-03-02 12:10:00.000000','wykbvz4q2nmj',0,12,'{}','waiting',0,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES(18,'turn:wykbvz4q2nmj:1:13','turn',2,'2026-03-02 12:17:00.000000','2026-03-02 12:17:00.000000','wykbvz4q2nmj',1,13,'{}','waiting',0,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES(19,'turn:wykbvz4q2nmj:1:14','turn',2,'2026-03-02 12:24:00.000000','2026-03-02 12:26:00.000000','wykbvz4q2nmj',1,14,'{}','waiting',0,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES(20,'turn:wykbvz4q2nmj:2:15','turn',3,'2026-03-02 12:31:00.000000','2026-03-02 12:31:00.000000','wykbvz4q2nmj',2,15,'{}','waiting',0,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES(21,'turn:wykbvz4q2nmj:0:16','turn',1,'2026-03-02 12:38:00.000000','2026-03-02 12:38:00.000000','wykbvz4q2nmj',0,16,'{}','waiting',0,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES(22,'turn:wykbvz4q2nmj:0:19','turn',1,'2026-03-02 12:45:00.000000','2026-03-02 12:47:00.000000','wykbvz4q2nmj',0,19,'{}','waiting',0,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES(23,'turn:wykbvz4q2nmj:0:20','turn',1,'2026-03-02 12:52:00.000000','2026-03-02 12:54:00.000000','wykbvz4q2nmj',0,20,'{}','waiting',0,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES(24,'turn:wykbvz4q2nmj:1:21','turn',2,'2026-03-02 12:59:00.000000','2026-03-02 12:59:00.000000','wykbvz4q2nmj',1,21,'{}','waiting',0,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES(25,'turn:wykbvz4q2nmj:2:22','turn',3,'2026-03-02 13:06:00.000000','2026-03-02 13:06:00.000000','wykbvz4q2nmj',2,22,'{}','waiting',0,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES(26,'turn:wykbvz4q2nmj:1:23','turn',2,'2026-03-02 13:13:00.000000','2026-03-02 13:13:00.000000','wykbvz4q2nmj',1,23,'{}','waiting',0,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES(27,'turn:wykbvz4q2nmj:2:24','turn',3,'2026-03-02 13:20:00.000000','2026-03-02 13:20:00.000000','wykbvz4q2nmj',2,24,'{}','waiting',0,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES(28,'turn:wykbvz4q2nmj:2:26','turn',3,'2026-03-02 13:27:00.000000','2026-03-02 13:29:00.000000','wykbvz4q2nmj',2,26,'{}','waiting',0,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES(29,'turn:wykbvz4q2nmj:1:27','turn',2,'2026-03-02 13:34:00.000000','2026-03-02 13:34:00.000000','wykbvz4q2nmj',1,27,'{}','waiting',0,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES(30,'turn:wykbvz4q2nmj:1:28','turn',2,'2026-03-02 13:41:00.000000','2026-03-02 13:43:00.000000','wykbvz4q2nmj',1,28,'{}','waiting',0,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES(31,'turn:wykbvz4q2nmj:1:29','turn',2,'2026-03-02 13:48:00.000000','2026-03-02 13:50:00.000000','wykbvz4q2nmj',1,29,'{}','waiting',0,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES(32,'turn:bchi4rcen5jq:1:2','turn',2,'2026-03-02 11:00:00.000000','2026-03-02 11:00:00.000000','bchi4rcen5jq',1,2,'{}','waiting',0,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES(33,'turn:bchi4rcen5jq:0:3','turn',1,'2026-03-02 11:07:00.000000','2026-03-02 11:07:00.000000','bchi4rcen5jq',0,3,'{}','waiting',0,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES(34,'turn:bchi4rcen5jq:1:4','turn',2,'2026-03-02 11:14:00.000000','2026-03-02 11:14:00.000000','bchi4rcen5jq',1,4,'{}','waiting',0,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES(35,'turn:bchi4rcen5jq:0:5','turn',1,'2026-03-02 11:21:00.000000','2026-03-02 11:21:00.000000','bchi4rcen5jq',0,5,'{}','waiting',0,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES(36,'turn:bchi4rcen5jq:1:6','turn',2,'2026-03-02 11:28:00.000000','2026-03-02 11:28:00.000000','bchi4rcen5jq',1,6,'{}','waiting',0,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES(37,'turn:bchi4rcen5jq:0:7','turn',1,'2026-03-02 11:35:00.000000','2026-03-02 11:35:00.000000','bchi4rcen5jq',0,7,'{}','waiting',0,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES(38,'turn:bchi4rcen5jq:1:8','turn',2,'2026-03-02 11:42:00.000000','2026-03-02 11:42:00.000000','bchi4rcen5jq',1,8,'{}','waiting',0,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES(39,'turn:bchi4rcen5jq:0:9','turn',1,'2026-03-02 11:49:00.000000','2026-03-02 11:49:00.000000','bchi4rcen5jq',0,9,'{}','waiting',0,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES(40,'turn:bchi4rcen5jq:1:10','turn',2,'2026-03-02 11:56:00.000000','2026-03-02 11:56:00.000000','bchi4rcen5jq',1,10,'{}','waiting',0,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES(41,'turn:bchi4rcen5jq:0:11','turn',1,'2026-03-02 12:03:00.000000','2026-03-02 12:03:00.000000','bchi4rcen5jq',0,11,'{}','waiting',0,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES(42,'turn:bchi4rcen5jq:1:12','turn',2,'2026-03-02 12:10:00.000000','2026-03-02 12:10:00.000000','bchi4rcen5jq',1,12,'{}','waiting',0,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES(43,'turn:bchi4rcen5jq:0:13','turn',1,'2026-03-02 12:17:00.000000','2026-03-02 12:17:00.000000','bchi4rcen5jq',0,13,'{}','waiting',0,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES(44,'turn:bchi4rcen5jq:1:14','turn',2,'2026-03-02 12:24:00.000000','2026-03-02 12:24:00.000000','bchi4rcen5jq',1,14,'{}','waiting',0,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES(45,'turn:bchi4rcen5jq:0:15','turn',1,'2026-03-02 12:31:00.000000','2026-03-02 12:31:00.000000','bchi4rcen5jq',0,15,'{}','waiting',0,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES(46,'turn:bchi4rcen5jq:1:20','turn',2,'2026-03-02 12:38:00.000000','2026-03-02 12:38:00.000000','bchi4rcen5jq',1,20,'{}','waiting',0,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES(47,'turn:bchi4rcen5jq:0:21','turn',1,'2026-03-02 12:45:00.000000','2026-03-02 12:45:00.000000','bchi4rcen5jq',0,21,'{}','waiting',0,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES(48,'turn:bchi4rcen5jq:1:22','turn',2,'2026-03-02 12:52:00.000000','2026-03-02 12:52:00.000000','bchi4rcen5jq',1,22,'{}','waiting',0,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES(49,'turn:bchi4rcen5jq:0:23','turn',1,'2026-03-02 12:59:00.000000','2026-03-02 12:59:00.000000','bchi4rcen5jq',0,23,'{}','waiting',0,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES(50,'turn:bchi4rcen5jq:1:24','turn',2,'2026-03-02 13:06:00.000000','2026-03-02 13:06:00.000000','bchi4rcen5jq',1,24,'{}','waiting',0,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES(51,'turn:bchi4rcen5jq:0:25','turn',1,'2026-03-02 13:13:00.000000','2026-03-02 13:13:00.000000','bchi4rcen5jq',0,25,'{}','waiting',0,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES(52,'turn:bchi4rcen5jq:1:26','turn',2,'2026-03-02 13:20:00.000000','2026-03-02 13:20:00.000000','bchi4rcen5jq',1,26,'{}','waiting',0,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES(53,'turn:bchi4rcen5jq:0:27','turn',1,'2026-03-02 13:27:00.000000','2026-03-02 13:27:00.000000','bchi4rcen5jq',0,27,'{}','waiting',0,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES(54,'turn:bchi4rcen5jq:1:28','turn',2,'2026-03-02 13:34:00.000000','2026-03-02 13:34:00.000000','bchi4rcen5jq',1,28,'{}','waiting',0,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES(55,'turn:bchi4rcen5jq:0:29','turn',1,'2026-03-02 13:41:00.000000','2026-03-02 13:41:00.000000','bchi4rcen5jq',0,29,'{}','waiting',0,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES(56,'turn:bchi4rcen5jq:1:30','turn',2,'2026-03-02 13:48:00.000000','2026-03-02 13:48:00.000000','bchi4rcen5jq',1,30,'{}','waiting',0,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES(57,'turn:bchi4rcen5jq:1:32','turn',2,'2026-03-02 13:55:00.000000','2026-03-02 13:57:00.000000','bchi4rcen5jq',1,32,'{}','waiting',0,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES(58,'turn:bchi4rcen5jq:1:33','turn',2,'2026-03-02 14:02:00.000000','2026-03-02 14:04:00.000000','bchi4rcen5jq',1,33,'{}','waiting',0,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES(59,'over:bchi4rcen5jq:1','over',1,'2026-03-02 14:09:00.000000','2026-03-02 14:09:00.000000','bchi4rcen5jq',0,35,'{}','waiting',0,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES(60,'over:bchi4rcen5jq:2','over',2,'2026-03-02 14:09:00.000000','2026-03-02 14:09:00.000000','bchi4rcen5jq',1,35,'{}','waiting',0,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES(61,'turn:v7z5kzc37hfc:0:4','turn',1,'2026-03-02 11:07:00.000000','2026-03-02 11:07:00.000000','v7z5kzc37hfc',0,4,'{}','waiting',0,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES(62,'turn:v7z5kzc37hfc:1:4','turn',2,'2026-03-02 11:07:00.000000','2026-03-02 11:09:00.000000','v7z5kzc37hfc',1,4,'{}','waiting',0,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES(63,'turn:v7z5kzc37hfc:0:6','turn',1,'2026-03-02 11:21:00.000000','2026-03-02 11:21:00.000000','v7z5kzc37hfc',0,6,'{}','waiting',0,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES(64,'turn:v7z5kzc37hfc:1:6','turn',2,'2026-03-02 11:21:00.000000','2026-03-02 11:23:00.000000','v7z5kzc37hfc',1,6,'{}','waiting',0,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES(65,'turn:v7z5kzc37hfc:0:8','turn',1,'2026-03-02 11:35:00.000000','2026-03-02 11:35:00.000000','v7z5kzc37hfc',0,8,'{}','waiting',0,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES(66,'turn:v7z5kzc37hfc:1:8','turn',2,'2026-03-02 11:35:00.000000','2026-03-02 11:37:00.000000','v7z5kzc37hfc',1,8,'{}','waiting',0,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES(67,'turn:v7z5kzc37hfc:0:10','turn',1,'2026-03-02 11:49:00.000000','2026-03-02 11:49:00.000000','v7z5kzc37hfc',0,10,'{}','waiting',0,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES(68,'turn:v7z5kzc37hfc:1:10','turn',2,'2026-03-02 11:49:00.000000','2026-03-02 11:51:00.000000','v7z5kzc37hfc',1,10,'{}','waiting',0,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES(69,'act:v7z5kzc37hfc:11:1','act',1,'2026-03-03 10:00:00.000000','2026-03-03 10:00:00.000000','v7z5kzc37hfc',0,11,'{}','waiting',0,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES(70,'act:v7z5kzc37hfc:11:2','act',2,'2026-03-03 10:00:00.000000','2026-03-03 10:00:00.000000','v7z5kzc37hfc',1,11,'{}','waiting',0,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES(71,'turn:v7z5kzc37hfc:1:13','turn',2,'2026-03-03 10:01:00.000000','2026-03-03 10:01:00.000000','v7z5kzc37hfc',1,13,'{}','waiting',0,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES(72,'act:v7z5kzc37hfc:13:1','act',1,'2026-03-03 10:01:00.000000','2026-03-03 10:01:00.000000','v7z5kzc37hfc',0,13,'{}','waiting',0,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES(73,'act:v7z5kzc37hfc:13:2','act',2,'2026-03-03 10:01:00.000000','2026-03-03 10:01:00.000000','v7z5kzc37hfc',1,13,'{}','waiting',0,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES(74,'signin:1:1772532000000000','signin',1,'2026-03-03 10:00:00.000000','2026-03-03 10:00:00.000000',NULL,NULL,NULL,'{"link": 8}','waiting',0,NULL,NULL,NULL);
CREATE TABLE person (
	id INTEGER NOT NULL, 
	email VARCHAR(254), 
	name VARCHAR(40) NOT NULL, 
	created_at DATETIME NOT NULL, 
	time_zone VARCHAR(64), 
	moderator BOOLEAN NOT NULL, 
	silent BOOLEAN NOT NULL, 
	unreachable TEXT, 
	CONSTRAINT pk_person PRIMARY KEY (id), 
	CONSTRAINT uq_person_email UNIQUE (email)
);
INSERT INTO "person" VALUES(1,'alice@example.org','Alice','2026-03-02 10:00:00.000000',NULL,0,0,NULL);
INSERT INTO "person" VALUES(2,'bob@example.org','Bob','2026-03-02 10:00:00.000000',NULL,0,0,NULL);
INSERT INTO "person" VALUES(3,'charlie@example.org','Charlie','2026-03-02 10:00:00.000000',NULL,0,0,NULL);
INSERT INTO "person" VALUES(4,'mia@example.org','Mia','2026-03-02 10:00:00.000000',NULL,1,0,NULL);
CREATE TABLE seat (
	game_id VARCHAR(16) NOT NULL, 
	seat INTEGER NOT NULL, 
	name VARCHAR(40) NOT NULL, 
	status VARCHAR(10) NOT NULL, 
	person_id INTEGER, 
	bot VARCHAR(20), 
	cut TEXT NOT NULL, 
	uncut BOOLEAN NOT NULL, 
	silent BOOLEAN NOT NULL, 
	invited_at DATETIME, 
	answered_at DATETIME, 
	CONSTRAINT pk_seat PRIMARY KEY (game_id, seat), 
	CONSTRAINT fk_seat_game_id_game FOREIGN KEY(game_id) REFERENCES game (id), 
	CONSTRAINT fk_seat_person_id_person FOREIGN KEY(person_id) REFERENCES person (id)
);
INSERT INTO "seat" VALUES('wykbvz4q2nmj',0,'Alice','seated',1,NULL,'oracle oak bay palm jasper mosaic',1,0,NULL,'2026-03-02 10:00:00.000000');
INSERT INTO "seat" VALUES('wykbvz4q2nmj',1,'Bob','seated',2,NULL,'chalice olive lapis bay coral agate',1,0,NULL,'2026-03-02 10:00:00.000000');
INSERT INTO "seat" VALUES('wykbvz4q2nmj',2,'Charlie','seated',3,NULL,'bay gold quay marble dove anchor',1,0,NULL,'2026-03-02 10:00:00.000000');
INSERT INTO "seat" VALUES('bchi4rcen5jq',0,'Alice','seated',1,NULL,'anchor palm horn anchor coral oak',1,0,NULL,'2026-03-02 10:00:00.000000');
INSERT INTO "seat" VALUES('bchi4rcen5jq',1,'Bob','seated',2,NULL,'enamel crown falcon bay candle lapis',1,0,NULL,'2026-03-02 10:00:00.000000');
INSERT INTO "seat" VALUES('aticuaxb54fe',0,'Alice','invited',1,NULL,'',0,0,'2026-03-02 10:00:00.000000',NULL);
INSERT INTO "seat" VALUES('aticuaxb54fe',1,'Bob','invited',2,NULL,'',0,0,'2026-03-02 10:00:00.000000',NULL);
INSERT INTO "seat" VALUES('v7z5kzc37hfc',0,'Alice','seated',1,NULL,'crown bay lapis coral jasper amber',1,0,NULL,'2026-03-02 10:00:00.000000');
INSERT INTO "seat" VALUES('v7z5kzc37hfc',1,'Bob','seated',2,NULL,'pepper palm cedar dome cypress pepper',1,0,NULL,'2026-03-02 10:00:00.000000');
CREATE TABLE snapshot (
	game_id VARCHAR(16) NOT NULL, 
	seq INTEGER NOT NULL, 
	format VARCHAR(40) NOT NULL, 
	state TEXT NOT NULL, 
	CONSTRAINT pk_snapshot PRIMARY KEY (game_id, seq), 
	CONSTRAINT fk_snapshot_game_id_game FOREIGN KEY(game_id) REFERENCES game (id)
);
INSERT INTO "snapshot" VALUES('wykbvz4q2nmj',29,'byzanz/1/1','{"step":"limit","number":29,"round":2,"turn":1,"starter":1,"deck":[2,21,9,21,9,8,15,7,20,24,8,24,17,15,0,1,10,16,9,4,17,24,20,0,0,19,4,13,12,0,8,2,4,21,24,14,24,22,7,24,21,1,6,23,14,16,11,18,12,14,3,8,13,17,13,24,24,20,5,0,24,16,23,5,9,24,4,6,22,5,2,12],"removed":[12,13,20,22],"lot":[],"hands":[[1,3,4,12,18,20,21],[0,1,6,10,16,20,24,24],[1,13,16,24,24]],"bids":[[],[],[]],"known":[[1,3,12,18,20,21],[0,1,6,10,16,20,24],[1,13,16,24,24]],"passed":[],"won":[6,2,4],"market":[4,5,12,16,17,17,18,19,24,24],"taken":1,"kept":[[],[9],[]],"gone":[5,8,8,10,11],"done":[false,false,false]}');
INSERT INTO "snapshot" VALUES('bchi4rcen5jq',35,'byzantium/1/1','{"step":"over","number":33,"round":2,"turn":-1,"kitty":[3,9,12,19],"hands":[[7,10,11,13,15],[8,14]],"cross":[5,-1,-1,-1,-1,1,-1,-1,-1,-1,-1,-1,-1,22,23,-1,-1,-1,-1,-1,-1,-1,-1,-1,-1,-1,16,18,-1,-1,-1,17,-1,-1,20,21,-1,-1,-1,6,2,-1,-1,0,-1,-1,-1,-1,4,-1,-1,-1],"passed":[0,1],"lacks":[[3,4,18,19],[3,19]],"shown":[[[3,4],[1,13]],[[7,10,11,13,15],[8,14]]]}');
INSERT INTO "snapshot" VALUES('v7z5kzc37hfc',13,'empire/1/1','{"step":"redraw","number":4,"year":2,"territory":5,"legacy":[11,10],"aside":[[13,14,15,16,17,18,18,19,20,21,22,22,23,24,25,38,39,40,41,42,43,44],[47,48,49,50,75,92]],"piles":[[5,36,5,28,1,5,7,3,0,8,11,3,1,12,27,32,0,2,4,4,2,34,36,1,0,37,0,4,1,10,0,3,10,2,0,5,2,0,2,2,5,31,37,30,2,4,3,1,0,0,27],[52,60,45,64,87,53,74,62,91,88,90,52,52,67,56,69,77,54,80,55,70,79,59,89,70,65,81,64,53,64,57,76]],"discards":[[1,2,4,4,29,29,33],[61,63,68,72,73,82,83,84]],"buried":[[1,0,[54,61,71,78],[78]],[1,1,[3,3,26],[3,3]]],"out":[[],[]],"shuffles":[1,1],"hands":[[0,0,0,2,5,6,9,35],[46,51,52,58,63,66,78,85,86]],"shown":[[2,6,5,35],[86,85,51,58]],"received":[0,66],"redrawn":[0,0],"played":[[],[]],"chosen":[[2,5,6,35],null],"melds":[[],[]],"added":[],"battle":[[61,73,83,84],[1,2,4,4],[1,10,5,1]]}');
CREATE TABLE turn (
	game_id VARCHAR(16) NOT NULL, 
	seat INTEGER NOT NULL, 
	question VARCHAR(40) NOT NULL, 
	opened_seq INTEGER NOT NULL, 
	opened_at DATETIME NOT NULL, 
	bot BOOLEAN NOT NULL, 
	started_at DATETIME, 
	extra INTEGER NOT NULL, 
	credited INTEGER NOT NULL, 
	due_at DATETIME, 
	remind_at DATETIME, 
	refused TEXT, 
	CONSTRAINT pk_turn PRIMARY KEY (game_id, seat), 
	CONSTRAINT fk_turn_game_id_game FOREIGN KEY(game_id) REFERENCES game (id)
);
INSERT INTO "turn" VALUES('wykbvz4q2nmj',1,'limit 29',29,'2026-03-02 13:48:00.000000',0,NULL,0,0,NULL,NULL,NULL);
INSERT INTO "turn" VALUES('v7z5kzc37hfc',1,'redraw 4',13,'2026-03-03 10:01:00.000000',0,NULL,0,0,NULL,NULL,NULL);
CREATE INDEX ix_outage_to_at ON outage (to_at);
CREATE INDEX ix_game_organiser_id ON game (organiser_id);
CREATE INDEX ix_game_status ON game (status);
CREATE INDEX ix_deed_game_id ON deed (game_id);
CREATE INDEX ix_deed_person_id ON deed (person_id);
CREATE INDEX ix_link_game_id ON link (game_id);
CREATE INDEX ix_link_person_id ON link (person_id);
CREATE INDEX ix_outbox_game_id ON outbox (game_id);
CREATE INDEX ix_outbox_person_id ON outbox (person_id);
CREATE INDEX ix_outbox_waiting ON outbox (status, not_before);
CREATE INDEX ix_seat_person_id ON seat (person_id);
CREATE INDEX ix_turn_bots ON turn (opened_at) WHERE bot = 1;
CREATE INDEX ix_turn_due_at ON turn (due_at);
CREATE INDEX ix_turn_remind_at ON turn (remind_at);
CREATE TRIGGER entry_no_update BEFORE UPDATE ON entry BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;
CREATE TRIGGER entry_no_delete BEFORE DELETE ON entry BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;
COMMIT;
