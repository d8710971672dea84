"""A small dictionary, Thai and Chinese to English, of the words that tools are described with.

Most tools describe themselves in English; with it a request in another script can meet them.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from openjarvis.engine.offline.script import stem

_ENTRIES = """
read: อ่าน 读取 阅读 读 讀取
write: เขียน 写入 写
open: เปิด 打开 開啟
close: ปิด 关闭
file: ไฟล์ 文件 档案 檔案 ファイル
folder directory: โฟลเดอร์ 文件夹 目录
search find look: ค้นหา ค้น 搜索 搜寻 搜尋 查找 搜一下 検索
web internet online: เว็บ อินเทอร์เน็ต เน็ต 网页 网上 互联网 网络 網路
news: ข่าว 新闻 新聞
weather: สภาพอากาศ อากาศ 天气 天氣 天気
rain: ฝน 下雨 雨
temperature: อุณหภูมิ 温度 溫度 气温
calculate math: คำนวณ 计算 計算
think reason: ไตร่ตรอง คิด 思考 推理
translate: แปล 翻译 翻譯 翻訳
time: เวลา 时间 時間
date day: วันที่ 日期
schedule: กำหนดการ ตั้งเวลา 定时 日程
task: งาน 任务 任務
remind: เตือน 提醒
remember memory store: จดจำ จำ 记住 記住
memory: ความจำ 记忆 記憶
store save: บันทึก เก็บ 保存 存储 储存
delete remove: ลบ 删除 刪除
cancel: ยกเลิก 取消
pause: หยุดชั่วคราว 暂停 暫停
list: รายการ 列表 列出 清单
send: ส่ง 发送 發送 发
message: ข้อความ 消息 信息 訊息
email mail: อีเมล 电子邮件 邮件
channel: ช่อง 频道
run execute: รัน 运行 执行
code: โค้ด 代码
book reserve: จอง 预订 预定 訂
table: โต๊ะ 桌子 餐桌
restaurant: ร้านอาหาร 餐厅 餐馆
recipe: สูตร 食谱 菜谱
cook: ทำอาหาร 烹饪
money: เงิน 钱
currency: สกุลเงิน 货币 貨幣 汇率
convert exchange: แลกเปลี่ยน แลก แปลง 换成 兑换 转换
city: เมือง 城市
order: คำสั่งซื้อ 订单 訂單
parcel package: พัสดุ 包裹 快递
music song: เพลง 音乐
play: เล่น 播放
room: ห้อง 房间
create: สร้าง 创建
update: แก้ไข 更新
"""


class Gloss(NamedTuple):
    """A word of the dictionary at its place in a text, with the stems of its English words."""

    stems: tuple[str, ...]
    start: int
    end: int


_STEMS = {
    word: tuple(stem(english) for english in left.split())
    for left, _, right in (line.partition(": ") for line in _ENTRIES.strip().splitlines())
    for word in right.split()
}
_WORD = re.compile("|".join(sorted(_STEMS, key=len, reverse=True)))


def glosses(text: str) -> Iterator[Gloss]:
    """Yield the words of `text` that the dictionary has."""
    for match in _WORD.finditer(text):
        yield Gloss(_STEMS[match[0]], match.start(), match.end())
